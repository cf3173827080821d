#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <seam/declaration.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::declaration_test {

using ::testing::Optional;

enum class Mode : std::uint8_t { replace, accumulate };

struct Members {
  double amount = 0.5;
  float small = 0.25F;
  int count = 3;
  std::uint8_t byte = 7;
  bool flag = true;
  std::string text = "x";
  std::filesystem::path path = "data";
  std::vector<std::int64_t> sizes{1, 2};
  std::vector<float> rates{0.5F};
  std::vector<std::string> names{"a"};
  std::optional<int> limit;
  Mode mode = Mode::accumulate;
  std::vector<Mode> modes{Mode::replace};
};

const ParameterInfo& parameter(const Declaration& declaration, const std::string& name) {
  for (const ParameterInfo& info : declaration.description().parameters) {
    if (info.name == name) return info;
  }
  throw std::out_of_range(name);
}

struct Declared {
  Members members;
  Declaration declaration;

  Declared() {
    declaration.parameter("amount", members.amount, "how much").range(0, 4).unit("px");
    declaration.parameter("small", members.small, "");
    declaration.parameter("count", members.count, "").at_least(1);
    declaration.parameter("byte", members.byte, "");
    declaration.parameter("flag", members.flag, "");
    declaration.parameter("text", members.text, "").choices({"x", "y"});
    declaration.parameter("path", members.path, "");
    declaration.parameter("sizes", members.sizes, "").at_most(10);
    declaration.parameter("rates", members.rates, "");
    declaration.parameter("names", members.names, "");
    declaration.parameter("limit", members.limit, "");
    declaration.parameter("mode", members.mode, "",
                          {{"replace", Mode::replace}, {"accumulate", Mode::accumulate}});
    declaration.parameter("modes", members.modes, "",
                          {{"replace", Mode::replace}, {"accumulate", Mode::accumulate}});
  }

  const ParameterInfo& operator[](const std::string& name) const {
    return parameter(declaration, name);
  }
};

TEST(Declaration, ADefaultIsTheMembersInitialiser) {
  const Declared declared;
  EXPECT_EQ(declared["amount"].default_value, Value{0.5});
  EXPECT_EQ(declared["small"].default_value, Value{0.25});
  EXPECT_EQ(declared["count"].default_value, Value{std::int64_t{3}});
  EXPECT_EQ(declared["flag"].default_value, Value{true});
  EXPECT_EQ(declared["path"].default_value, Value{std::string("data")});
  EXPECT_EQ(declared["rates"].default_value, Value{std::vector<double>{0.5}});
  EXPECT_EQ(declared["limit"].default_value, std::nullopt);
  EXPECT_EQ(declared["mode"].default_value, Value{std::string("accumulate")});
  EXPECT_EQ(declared["modes"].default_value, Value{std::vector<std::string>{"replace"}});
}

TEST(Declaration, AssigningSetsTheMember) {
  Declared declared;
  const auto assign = [&](const std::string& name, const Value& value) {
    ASSERT_EQ(problem_with(declared[name], value), std::nullopt);
    declared[name].assign(value);
  };
  assign("amount", 2.5);
  assign("small", std::int64_t{2});  // an integer is accepted as a number
  assign("count", std::int64_t{9});
  assign("byte", std::int64_t{255});
  assign("text", std::string("y"));
  assign("sizes", std::vector<std::int64_t>{});
  assign("rates", std::vector<std::int64_t>{1, 2});
  assign("limit", std::int64_t{5});
  assign("mode", std::string("replace"));
  assign("modes", std::vector<std::string>{"accumulate", "replace"});
  EXPECT_EQ(declared.members.amount, 2.5);
  EXPECT_EQ(declared.members.small, 2.0F);
  EXPECT_EQ(declared.members.count, 9);
  EXPECT_EQ(declared.members.byte, 255);
  EXPECT_EQ(declared.members.text, "y");
  EXPECT_TRUE(declared.members.sizes.empty());
  EXPECT_THAT(declared.members.rates, ElementsAre(1.0F, 2.0F));
  EXPECT_EQ(declared.members.limit, 5);
  EXPECT_EQ(declared.members.mode, Mode::replace);
  EXPECT_THAT(declared.members.modes, ElementsAre(Mode::accumulate, Mode::replace));
}

TEST(Declaration, SaysWhatIsWrongWithAValue) {
  const Declared declared;
  const auto problem = [&](const std::string& name, const Value& value) {
    return problem_with(declared[name], value);
  };
  EXPECT_THAT(problem("amount", Value{5.0}), Optional(HasSubstr("5 is more than 4")));
  EXPECT_THAT(problem("amount", Value{-0.1}), Optional(HasSubstr("less than 0")));
  EXPECT_THAT(problem("amount", Value{std::nan("")}), Optional(HasSubstr("nan")));
  EXPECT_THAT(problem("amount", Value{std::string("5")}), Optional(HasSubstr("not a number")));
  EXPECT_THAT(problem("count", Value{2.0}), Optional(HasSubstr("2.0 is not an integer")));
  EXPECT_THAT(problem("count", Value{true}), Optional(HasSubstr("true is not an integer")));
  EXPECT_THAT(problem("flag", Value{std::int64_t{1}}), Optional(HasSubstr("true or false")));
  EXPECT_THAT(problem("text", Value{std::string("z")}), Optional(HasSubstr("is not one of x, y")));
  EXPECT_THAT(problem("sizes", Value{std::vector<std::int64_t>{1, 11}}),
              Optional(HasSubstr("11 is more than 10")));
  EXPECT_THAT(problem("modes", Value{std::vector<std::string>{"add"}}),
              Optional(HasSubstr("\"add\" is not one of")));
}

TEST(Declaration, AMemberCannotBeGivenMoreThanItHolds) {
  const Declared declared;
  EXPECT_NE(problem_with(declared["byte"], Value{std::int64_t{256}}), std::nullopt);
  EXPECT_NE(problem_with(declared["byte"], Value{std::int64_t{-1}}), std::nullopt);
  EXPECT_NE(problem_with(declared["count"], Value{std::int64_t{1} << 40}), std::nullopt);
}

TEST(Declaration, SaysWhatIsAccepted) {
  const Declared declared;
  EXPECT_EQ(accepted_by(declared["amount"]), "a number from 0 to 4 (px)");
  EXPECT_EQ(accepted_by(declared["text"]), "one of x, y");
  EXPECT_EQ(accepted_by(declared["modes"]), "a list of replace, accumulate");
  EXPECT_EQ(accepted_by(declared["flag"]), "true or false");
}

TEST(Declaration, ValuesAreWrittenAsTheyStandInAFile) {
  EXPECT_EQ(to_text(Value{1.0}), "1.0");
  EXPECT_EQ(to_text(Value{0.1}), "0.1");
  EXPECT_EQ(to_text(Value{std::int64_t{-4}}), "-4");
  EXPECT_EQ(to_text(Value{false}), "false");
  EXPECT_EQ(to_text(Value{std::string("a\"b\\c\n\x01\x7f")}), R"("a\"b\\c\n\u0001\u007f")");
  EXPECT_EQ(to_text(Value{std::vector<double>{1, 2.5}}), "[1.0, 2.5]");
  EXPECT_EQ(to_text(Value{std::vector<std::string>{}}), "[]");
  EXPECT_EQ(to_text(Value{std::numeric_limits<double>::infinity()}), "inf");
}

struct Interface {
  virtual ~Interface() = default;
  virtual int number() = 0;
};

struct Offering final : Interface {
  int number() override { return 42; }
};

TEST(Declaration, ReferencesHandOverTheInterface) {
  Offering offering;
  Declaration offers;
  offers.offers<Interface>(offering);
  Ref<Interface> reference;
  Refs<Interface> all;
  Declaration refers;
  refers.reference("index", reference, "");
  refers.upstream(all, "");
  const OfferedInterface& offered = offers.description().offers.front();
  const ParameterInfo& parameter = refers.description().parameters.front();
  EXPECT_EQ(parameter.interface, offered.interface);
  EXPECT_TRUE(parameter.required);
  parameter.bind(offered.target);
  EXPECT_EQ(reference->number(), 42);
  const UpstreamReference& upstream = refers.description().upstream.front();
  upstream.add(offered.target);
  EXPECT_EQ(all.size(), 1U);
  upstream.clear();
  EXPECT_TRUE(all.empty());
}

/// A stage with presets.
struct Network {
  struct Options {
    Mode mode = Mode::accumulate;
    std::int64_t width = 64;
    std::optional<int> stride;
    struct {
      double rate = 0.3;
    } dropout;
  };
  Options options;
  double margin = 0.2;

  void declare(Declaration& d) {
    d.preset("preset", options, "whose",
             {{"released", Options{}},
              {"published", Options{Mode::replace, 64, 2, {0.5}}},
              {"small", Options{Mode::accumulate, 8, std::nullopt, {0.3}}}});
    d.parameter("mode", options.mode, "which",
                {{"replace", Mode::replace}, {"accumulate", Mode::accumulate}});
    d.parameter("width", options.width, "channels");
    d.parameter("stride", options.stride, "steps");
    d.parameter("rate", options.dropout.rate, "share");
    d.parameter("margin", margin, "room").only_with("mode", "replace");
    d.parameter("deep", deep, "whether").only_with("width", Value{std::int64_t{64}});
    d.parameter("limit", limit, "most").only_with("stride", Value{std::int64_t{2}});
  }

  bool deep = false;
  std::optional<int> limit;
};

using Defaults = std::map<std::string, std::optional<Value>>;

TEST(Declaration, PresetsAreTheDefaultsOfListsOfChoices) {
  struct Options {
    std::vector<Mode> modes{Mode::replace};
  };
  Options options;
  Declaration d;
  d.preset("preset", options, "whose",
           {{"ours", Options{}}, {"theirs", Options{{Mode::accumulate, Mode::replace}}}});
  d.parameter("modes", options.modes, "which",
              {{"replace", Mode::replace}, {"accumulate", Mode::accumulate}});
  const std::vector<std::string> both{"accumulate", "replace"};
  EXPECT_EQ(parameter(d, "modes").default_value, Value{std::vector<std::string>{"replace"}});
  EXPECT_EQ(parameter(d, "modes").preset_defaults, (Defaults{{"theirs", Value{both}}}));
}

TEST(Declaration, PresetsAreTheDefaultsOfTheOptionsMembers) {
  Network network;
  Declaration declaration;
  network.declare(declaration);
  const auto others = [&](const char* name) {
    return parameter(declaration, name).preset_defaults;
  };
  EXPECT_EQ(parameter(declaration, "preset").default_value, Value{std::string("released")});
  EXPECT_THAT(parameter(declaration, "preset").choices,
              ElementsAre("released", "published", "small"));
  EXPECT_EQ(others("mode"), (Defaults{{"published", Value{std::string("replace")}}}));
  EXPECT_EQ(others("width"), (Defaults{{"small", Value{std::int64_t{8}}}}));
  EXPECT_EQ(others("stride"), (Defaults{{"published", Value{std::int64_t{2}}}}));
  EXPECT_EQ(others("rate"), (Defaults{{"published", Value{0.5}}}));
  EXPECT_EQ(others("margin"), Defaults{}) << "it is not a member of the options";
  parameter(declaration, "width").assign(std::int64_t{7});
  parameter(declaration, "preset").assign(std::string("published"));
  EXPECT_EQ(network.options.stride, 2);
  EXPECT_EQ(network.options.width, 64);
}

TEST(Declaration, AParameterHasNoEffectWithOtherValuesOfTheOneItDependsOn) {
  Network network;
  Declaration declaration;
  network.declare(declaration);
  const auto why = [&](const char* name, const Values& set) {
    return without_effect(parameter(declaration, name), declaration.description(), set);
  };
  EXPECT_EQ(why("margin", {}),
            "has no effect with mode = \"accumulate\"; remove it, or set mode to \"replace\"");
  EXPECT_EQ(why("margin", {{"mode", std::string("replace")}}), std::nullopt);
  EXPECT_EQ(why("margin", {{"preset", std::string("published")}}), std::nullopt);
  EXPECT_NE(
      why("margin", {{"preset", std::string("published")}, {"mode", std::string("accumulate")}}),
      std::nullopt);
  EXPECT_EQ(why("deep", {}), std::nullopt);
  EXPECT_NE(why("deep", {{"preset", std::string("small")}}), std::nullopt);
  EXPECT_EQ(why("limit", {}), "has no effect without stride; remove it, or set stride to 2");
  EXPECT_EQ(why("mode", {}), std::nullopt) << "it has no condition";
  EXPECT_EQ(documentation_of(parameter(declaration, "margin")),
            "room; only with mode = \"replace\"");
  EXPECT_EQ(documentation_of(parameter(declaration, "mode")), "which");
}

}  // namespace seam::declaration_test
