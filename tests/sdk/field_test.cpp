#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <seam/declaration.hpp>
#include <seam/error.hpp>
#include <seam/field.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace seam {
namespace {

using ::testing::HasSubstr;

/// Every key of a header's namespace seam::field, with its type as it is written there.
std::map<std::string, std::string> keys_of_header(const std::filesystem::path& header) {
  std::ifstream file(header);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::regex key("\\ninline constexpr Field<(.+)>\\s+(\\w+)\\{\\s*\"(\\w+)\"");
  std::map<std::string, std::string> keys;
  for (std::sregex_iterator match(text.begin(), text.end(), key), end; match != end; ++match) {
    EXPECT_EQ((*match)[2], (*match)[3]) << "a key is called as its field";
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
  EXPECT_GE(keys.size(), 20U) << "this test reads the headers' text";
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
  const auto refusal = [](const auto& declare) -> std::string {
    Declaration declaration;
    try {
      declare(declaration);
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::internal);
      return error.what();
    }
    return "accepted";
  };
  const auto says = HasSubstr(
      "field 'index' is shared by all plugins and is of type std::int64_t, not std::string");
  EXPECT_THAT(refusal([&](Declaration& d) { d.provides(index); }), says);
  EXPECT_THAT(refusal([&](Declaration& d) { d.needs(index); }), says);
  EXPECT_THAT(refusal([&](Declaration& d) { d.accepts(index); }), says);
  EXPECT_EQ(refusal([&](Declaration& d) { d.provides(field::index); }), "accepted");
  EXPECT_EQ(refusal([&](Declaration& d) { d.provides(Field<std::string>{"indexes"}); }),
            "accepted");
}

TEST(ReadableType, IsHowPeopleWriteIt) {
  EXPECT_EQ(readable_type(type_name<std::string>()), "std::string");
  EXPECT_EQ(readable_type(type_name<std::vector<std::string>>()), "std::vector<std::string>");
  EXPECT_EQ(readable_type(type_name<std::filesystem::path>()), "std::filesystem::path");
  EXPECT_EQ(readable_type(type_name<std::vector<std::int64_t>>()), "std::vector<std::int64_t>");
  EXPECT_EQ(readable_type(type_name<std::vector<std::uint64_t>>()), "std::vector<std::uint64_t>");
  EXPECT_EQ(readable_type(type_name<std::vector<std::vector<double>>>()),
            "std::vector<std::vector<double>>");
  EXPECT_EQ(readable_type("at::Tensor"), "torch::Tensor");
  EXPECT_EQ(readable_type("long long int"), "long long");
}

}  // namespace
}  // namespace seam
