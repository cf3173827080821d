/// Loads pipelines that tests write, with the stages of tests/pipeline/plugins/fixture/stages.hpp.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/config/load.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host {

inline constexpr const char* simple = R"([stage.numbers]
use = "fixture.numbers"
count = 5

[stage.scale]
use = "fixture.scale"

[stage.total]
use = "fixture.total"

[flow]
main = "numbers -> scale -> total"
)";

/// A pipeline with this flow and stages such as "total blur=scale": the second one is called blur
/// and is a fixture.scale.
inline std::string pipeline_of(const std::string& stages, const std::string& flow) {
  std::string text;
  std::istringstream words(stages);
  for (std::string word; words >> word;) {
    text += "[stage." + word.substr(0, word.find('=')) + "]\nuse = \"fixture." +
            word.substr(word.find('=') + 1) + "\"\n";
  }
  return text + "[flow]\nmain = \"" + flow + "\"\n";
}

class Load : public ::testing::Test {
 protected:
  LoadResult load(const std::string& text, std::vector<std::string> overrides = {},
                  std::vector<std::string> variants = {}) {
    LoadOptions options;
    options.file = folder_.write("pipeline.toml", text);
    options.overrides = std::move(overrides);
    options.variants = std::move(variants);
    options.environment = environment_;
    options.search_path = {{{std::string(SEAM_TEST_PLUGINS) + "/good", "the test"}}};
    return load_pipeline(options);
  }

  /// The checked pipeline; fails the test if there are errors.
  CheckedPipeline loaded(const std::string& text, std::vector<std::string> overrides = {}) {
    LoadResult result = load(text, std::move(overrides));
    std::string problems;
    for (const Problem& problem : result.problems) problems += to_text(problem);
    EXPECT_TRUE(result.pipeline.has_value()) << problems;
    return result.pipeline ? std::move(*result.pipeline) : CheckedPipeline{};
  }

  seam::test::TemporaryFolder folder_;
  std::map<std::string, std::string> environment_;
};

inline const StageSpec& stage(const CheckedPipeline& pipeline, const std::string& name) {
  for (const StageSpec& spec : pipeline.spec.stages) {
    if (spec.name == name) return spec;
  }
  throw std::out_of_range(name);
}

inline std::vector<std::string> codes(const LoadResult& result) {
  std::vector<std::string> codes;
  for (const Problem& problem : result.problems) codes.push_back(problem.code);
  return codes;
}

}  // namespace seam::host
