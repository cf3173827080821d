#include "pipeline/run/twin.hpp"

#include "tests/support/matchers.hpp"

namespace seam::host::twin_test {

PipelineSpec spec_of(const std::string& resolved, std::vector<std::string> differs_in) {
  PipelineSpec spec;
  spec.file = "files/mine.toml";
  spec.twin = "../other.toml";
  spec.differs_in = std::move(differs_in);
  spec.resolved = resolved;
  return spec;
}

std::vector<std::string> messages(const std::vector<Problem>& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(problem.message);
  return texts;
}

constexpr const char* twin = R"(
[pipeline]
name = "other"
[stage.model]
use = "model.a"
width = 3
[stage.model_of_items]
use = "model.a"
)";

constexpr const char* mine = R"(
[pipeline]
name = "mine"
[stage.model]
use = "model.b"
[stage.model_of_items]
use = "model.b"
)";

TEST(Twin, IsLookedForBesideTheFile) {
  EXPECT_EQ(twin_of(spec_of("", {})), "other.toml");
  EXPECT_EQ(twin_of(PipelineSpec()), "");
}

TEST(Twin, DiffersInNothingThatIsNotNamed) {
  EXPECT_THAT(messages(check_twin(spec_of(mine, {"stage.model"}), twin)),
              ElementsAre("it also differs from its twin '../other.toml' in "
                          "stage.model_of_items.use: \"model.b\" here, \"model.a\" there"));
  EXPECT_THAT(check_twin(spec_of(mine, {"stage.model", "stage.model_of_items.use"}), twin),
              IsEmpty())
      << "a name does not affect results";
  EXPECT_THAT(
      messages(check_twin(spec_of(mine, {"stage.model.use", "stage.model_of_items"}), twin)),
      ElementsAre("it also differs from its twin '../other.toml' in stage.model.width: not "
                  "set here, 3 there"));
}

TEST(Twin, WhatIsNamedMustDiffer) {
  EXPECT_THAT(messages(check_twin(spec_of(twin, {"stage.model"}), twin)),
              ElementsAre("`differs_in` names 'stage.model', but the twins do not differ there"));
}

}  // namespace seam::host::twin_test
