/// Reads a pipeline file and checks all of it in one pass.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/problem.hpp"
#include "pipeline/plugins/registry.hpp"
#include "seam/runner.hpp"

namespace seam::host {

/// A pipeline that may run: every stage made and configured, every path's fields checked.
struct CheckedPipeline {
  PipelineSpec spec;
  std::map<std::string, std::unique_ptr<StageRunner>> stages;  ///< by name, references bound
};

struct LoadResult {
  std::optional<CheckedPipeline> pipeline;  ///< none where there are errors
  std::vector<Problem> problems;            ///< errors and warnings, in file order
};

struct LoadOptions {
  std::filesystem::path file;
  std::vector<std::string> overrides;              ///< --set: "stage.model.classes=50"
  std::vector<std::string> plugin_paths;           ///< --plugin-path
  std::map<std::string, std::string> environment;  ///< for ${VAR}
  int threads = 1;                                 ///< told to the libraries behind plugins
};

/// Never throws for what a user wrote: that becomes problems.
LoadResult load_pipeline(const LoadOptions& options);

}  // namespace seam::host
