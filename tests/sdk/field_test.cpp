#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <regex>
#include <seam/declaration.hpp>
#include <seam/field.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"

namespace seam {
namespace field_test {

/// Every key of a header's namespace seam::field, with its type as it is written there.
std::map<std::string, std::string> keys_of_header(const std::filesystem::path& header) {
  const std::string text = test::text_of_file(header);
  const std::regex key("\\ninline constexpr Field<(.+)>\\s+(\\w+)\\{\\s*(?:\"|field_name::)(\\w+)");
  std::map<std::string, std::string> keys;
  for (std::sregex_iterator match(text.begin(), text.end(), key), end; match != end; ++match) {
    EXPECT_EQ((*match)[2], (*match)[3]) << "a key has the name of its field";
    keys[(*match)[3]] = (*match)[1];
  }
  return keys;
}

/// A type as the headers write it: without the namespace that they are in.
std::string in_header(std::string_view type) {
  std::string text = readable_type(type);
  for (const std::string outer : {"seam::", "torch::"}) {
    for (auto at = text.find(outer); at != std::string::npos; at = text.find(outer)) {
      text.erase(at, outer.size());
    }
  }
  return text;
}

TEST(SharedFields, EveryKeyOfTheHeadersKeepsItsType) {
  std::map<std::string, std::string> keys;
  for (const auto& entry : std::filesystem::directory_iterator(SEAM_SDK_HEADERS)) {
    keys.merge(keys_of_header(entry.path()));
  }
  EXPECT_GE(keys.size(), 20U) << "this test parses the headers' text";
  for (const auto& [name, type] : keys) {
    EXPECT_EQ(in_header(shared_field_type(name)), type)
        << "field '" << name << "': add it to shared_field_type()";
  }
}

TEST(SharedFields, OtherNamesAreFree) {
  EXPECT_EQ(shared_field_type("brightness"), "");
  EXPECT_EQ(shared_field_type(""), "");
}

TEST(SharedFields, ANameWithAnotherTypeIsRefusedWhereverItIsDeclared) {
  constexpr Field<std::string> index{"index"};
  const std::string says =
      "field 'index' is shared by all plugins and is of type std::int64_t, not std::string";
  Declaration d;
  EXPECT_REFUSED(d.provides(index), Fault::internal, says);
  EXPECT_REFUSED(d.needs(index), Fault::internal, says);
  EXPECT_REFUSED(d.accepts(index), Fault::internal, says);
  EXPECT_NO_THROW(d.provides(field::index));
  EXPECT_NO_THROW(d.provides(Field<std::string>{"indexes"}));
}

struct Landmarks {
  std::array<float, 6> xy;
};
struct Caption {
  std::string text;
};
struct Share {
  double part;
};
struct Shares {
  double sum;
};

}  // namespace field_test

template <>
struct FieldTraits<field_test::Landmarks> {
  static constexpr std::string_view gathered_contract = "f32[N,3,2]";
  static std::size_t bytes(const field_test::Landmarks& /*value*/) {
    return sizeof(field_test::Landmarks);
  }
  static std::string violation(const field_test::Landmarks& /*value*/,
                               std::string_view /*contract*/) {
    return {};
  }
  static NumberView numbers(const field_test::Landmarks& value) {
    return {"f32", {3, 2}, value.xy.data()};
  }
};

template <>
struct FieldTraits<field_test::Share> {
  static std::size_t bytes(const field_test::Share& /*value*/) { return sizeof(field_test::Share); }
  static std::string violation(const field_test::Share& /*value*/, std::string_view /*contract*/) {
    return {};
  }
  static field_test::Shares gather(std::span<const field_test::Share* const> values) {
    field_test::Shares shares{0};
    for (const field_test::Share* value : values) shares.sum += value->part;
    return shares;
  }
};

namespace field_test {

template <class T>
FieldInfo field_of(std::string_view contract = {}) {
  Declaration declaration;
  declaration.provides(Field<T>{"view", contract});
  return declaration.description().provides.front();
}

/// "type contract" of the batch's field.
template <class T>
std::string gathered_as(std::string_view contract = {}) {
  const FieldInfo field = gathered(field_of<T>(contract), "views");
  EXPECT_EQ(field.name, "views");
  return readable_type(field.type) + " " + field.contract;
}

TEST(Gathering, NumbersAndArraysOfThemBecomeATensor) {
  EXPECT_EQ(gathered_as<double>(), "torch::Tensor f64[N]");
  EXPECT_EQ(gathered_as<bool>(), "torch::Tensor bool[N]");
  EXPECT_EQ(gathered_as<std::int64_t>(), "torch::Tensor i64[N]");
  EXPECT_EQ((gathered_as<std::array<std::array<float, 2>, 5>>()), "torch::Tensor f32[N,5,2]");
  EXPECT_EQ(gathered_as<std::vector<float>>(), "torch::Tensor f32[N,...]");
  EXPECT_EQ(gathered_as<std::vector<float>>("*[10]"), "torch::Tensor f32[N,10]");
  EXPECT_EQ(gathered_as<std::vector<float>>("*[K,...]"), "torch::Tensor f32[N,K,...]");
}

TEST(Gathering, OtherTypesBecomeAVector) {
  // The same name as without gathering, because it is the type's identity.
  EXPECT_EQ(field_type<Image>.gathering.type, "std::vector<Image>");
  EXPECT_EQ(gathered_as<std::string>(), "std::vector<std::string> *[N]");
  EXPECT_EQ(gathered_as<Role>(), "std::vector<Role> *[N]");
  EXPECT_EQ(gathered_as<std::vector<std::string>>(), "std::vector<std::vector<std::string>> *[N]");
  EXPECT_EQ(gathered_as<Image>(), "std::vector<Image> *[N]");
}

TEST(Gathering, ATypeOfOthersSaysItself) {
  EXPECT_EQ(gathered_as<Landmarks>(), "torch::Tensor f32[N,3,2]");
  EXPECT_THAT(gathered_as<Caption>(), HasSubstr("Caption> *[N]"));
  EXPECT_THAT(gathered_as<Share>(), HasSubstr("Shares "));

  const std::array<Share, 2> values{{{0.25}, {0.5}}};
  const std::array<const void*, 2> erased{values.data(), values.data() + 1};
  const AnyValue sum = field_type<Share>.gathering.gather(erased);
  ASSERT_EQ(sum.type->name, type_name<Shares>());
  EXPECT_EQ(static_cast<const Shares*>(sum.value.get())->sum, 0.75);
}

TEST(Gathering, NumbersAreWhereTheValueIs) {
  const std::vector<std::array<float, 2>> points{{{1, 2}}, {{3, 4}}, {{5, 6}}};
  const NumberView numbers = FieldTraits<std::vector<std::array<float, 2>>>::numbers(points);
  EXPECT_EQ(numbers.element, "f32");
  EXPECT_EQ(numbers.sizes, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(numbers.data, points.data());
}

TEST(Gathering, AListHoldsTheValuesInOrder) {
  const std::array<std::string, 3> texts{"a", "", "c"};
  const std::array<const void*, 3> erased{texts.data(), texts.data() + 1, texts.data() + 2};
  const AnyValue list = field_type<std::string>.gathering.gather(erased);
  ASSERT_EQ(list.type->name, type_name<std::vector<std::string>>());
  EXPECT_EQ(*static_cast<const std::vector<std::string>*>(list.value.get()),
            (std::vector<std::string>{"a", "", "c"}));
}

TEST(Gathering, RefusesWhatIsGatheredAlreadyAndSharedNames) {
  EXPECT_REFUSED((void)gathered(field_of<std::vector<double>>("*[N]"), "views"),
                 Fault::configuration,
                 "'view' cannot be gathered: it already holds the rows of a batch");
  EXPECT_REFUSED((void)gathered(field_of<std::vector<std::vector<std::string>>>(), "views"),
                 Fault::configuration, "does not define how");
  EXPECT_REFUSED((void)gathered(field_of<std::int64_t>(), "indices"), Fault::configuration,
                 "the name 'indices' belongs to a shared field of type std::vector<std::int64_t>");
}

TEST(LastingName, IsOneForEachText) {
  const std::string_view name = lasting_name(std::string("some") + "_name");
  EXPECT_EQ(name, "some_name");
  EXPECT_EQ(lasting_name("some_name").data(), name.data());
}

TEST(ReadableType, IsHowPeopleWriteIt) {
  EXPECT_EQ(readable_type(type_name<std::string>()), "std::string");
  EXPECT_EQ(readable_type(type_name<std::vector<std::string>>()), "std::vector<std::string>");
  EXPECT_EQ(readable_type(type_name<std::filesystem::path>()), "std::filesystem::path");
  EXPECT_EQ(readable_type(type_name<std::int64_t>()), "std::int64_t");
  EXPECT_EQ(readable_type(type_name<std::vector<std::int64_t>>()), "std::vector<std::int64_t>");
  EXPECT_EQ(readable_type(type_name<std::vector<std::uint64_t>>()), "std::vector<std::uint64_t>");
  EXPECT_EQ(readable_type(type_name<std::vector<std::vector<double>>>()),
            "std::vector<std::vector<double>>");
  EXPECT_EQ(readable_type("at::Tensor"), "torch::Tensor");
  EXPECT_EQ(readable_type("long long int"), "long long");
}

}  // namespace field_test
}  // namespace seam
