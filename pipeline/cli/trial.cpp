#include "pipeline/cli/trial.hpp"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX, not in <cstdlib>

#include <string>
#include <system_error>

#include "pipeline/run/data_files.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "seam-check-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw Error("cannot create a folder in '" + std::filesystem::temp_directory_path().string() +
                    "'; set TMPDIR to a writable folder",
                Fault::data);
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RunOptions trial_options(const CheckedPipeline& pipeline, const ScratchFolder& folder, int threads,
                         StopState& stop) {
  RunOptions options;
  options.run_directory = folder.path() / "run";
  options.threads = threads;
  options.numerics = numerics_for(pipeline);
  obey_numerics(options.numerics);
  options.stop = &stop;
  return options;
}

void refuse_writing_elsewhere(const CheckedPipeline& pipeline, const std::string& what) {
  for (const WrittenElsewhere& outside : written_elsewhere(pipeline)) {
    refuse(
        "{} does not run stage '{}' ({}), which may write to '{}'; use a path relative to the "
        "temporary run folder (for a data set, to the working directory) instead: --set {}=check",
        what, outside.stage, pipeline.stages.at(outside.stage)->type(), outside.path, outside.key);
  }
}

}  // namespace seam::host
