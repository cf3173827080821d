/// Runs of one pipeline file with the real program, in a temporary folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "seam/safetensors.hpp"
#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {

class RunFixture : public ::testing::Test {
 protected:
  explicit RunFixture(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] const std::filesystem::path& here() const { return folder_.path(); }

  /// Writes a file that extends one in pipelines/.
  void write_extension(const std::string& file, const std::string& pipeline,
                       const std::string& text) const {
    folder_.write(file, "extends = \"" SEAM_SOURCE "/pipelines/" + pipeline + "\"\n" + text);
  }

  /// Arguments of `seam run` on the file, with the stages of these tests.
  [[nodiscard]] std::vector<std::string> run_into(const std::string& directory,
                                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"run",       file_,    "--plugin-path", SEAM_SYSTEM_PLUGINS,
                                       "--run-dir", directory};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  [[nodiscard]] std::vector<std::string> run_into(const std::string& directory, int threads,
                                                  std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--threads", std::to_string(threads)});
    return run_into(directory, more);
  }
  [[nodiscard]] Finished run(const std::string& directory, int threads,
                             const std::vector<std::string>& more = {},
                             const std::map<std::string, std::string>& environment = {}) const {
    return seam(run_into(directory, threads, more), here(), environment);
  }
  /// The metrics of a run; it fails the test if the run does.
  std::string completed(const std::string& directory, int threads,
                        const std::vector<std::string>& more = {}) const {
    const Finished finished = run(directory, threads, more);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return metrics(directory);
  }
  [[nodiscard]] Finished resume(const std::string& directory) const {
    return seam({"run", "--resume", directory}, here());
  }

  [[nodiscard]] std::string metrics(const std::string& directory) const {
    return text_of_file(here() / directory / "metrics.jsonl");
  }
  /// The tensors of the checkpoint after this many epochs.
  [[nodiscard]] std::map<std::string, Archive::Entry> weights(const std::string& directory,
                                                              int epochs = 2) const {
    const std::string name = "epoch-" + std::to_string(epochs) + ".safetensors";
    return read_safetensors(here() / directory / "checkpoints" / name).tensors;
  }

  void expect_as_whole(const std::string& directory) const {
    EXPECT_EQ(metrics(directory), metrics("whole"));
    EXPECT_TRUE(weights(directory) == weights("whole")) << "other weights or moments";
  }

  TemporaryFolder folder_;
  std::string file_;
};

}  // namespace seam::test
