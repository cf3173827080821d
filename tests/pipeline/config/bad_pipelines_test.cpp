/// Every file in tests/bad_pipelines is broken in one way; the .expected file next to it contains
/// its errors. SEAM_UPDATE_EXPECTED=1 rewrites these files; review them before a commit.
///
/// Comment lines at the top of a file set the options and the environment:
///     # --set stage.scale.factor=9
///     # --variant small,fast
///     # environment HOME_OF_LISTS=/data

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "pipeline/config/load.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host {
namespace bad_pipelines_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
  }
  return text;
}

LoadOptions options_of(const fs::path& file) {
  LoadOptions options;
  options.file = file.filename();
  options.search_path = {{{std::string(SEAM_TEST_PLUGINS) + "/good", "the tests"}}};
  std::istringstream lines(text_of(file));
  const std::string set = "# --set ";
  const std::string variant = "# --variant ";
  const std::string environment = "# environment ";
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    if (line.starts_with(set)) options.overrides.push_back(line.substr(set.size()));
    if (line.starts_with(variant)) {
      std::istringstream names(line.substr(variant.size()));
      for (std::string name; std::getline(names, name, ',');) options.variants.push_back(name);
    }
    if (line.starts_with(environment)) {
      const std::string variable = line.substr(environment.size());
      const std::size_t equals = variable.find('=');
      options.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
  }
  return options;
}

std::string said_about(const fs::path& file, DescriptionCache* descriptions = nullptr) {
  LoadOptions options = options_of(file);
  options.descriptions = descriptions;
  std::string text;
  for (const Problem& problem : load_pipeline(options).problems) text += to_text(problem);
  text = replaced(text, SEAM_TEST_PLUGINS, "<plugins>");
  return replaced(text, SEAM_BAD_PIPELINES, "<here>");
}

/// Whether the texts agree; a line that ends in "..." matches all lines with that beginning.
void compare(const std::string& said, const std::string& expected) {
  std::istringstream said_lines(said);
  std::istringstream expected_lines(expected);
  std::string matched;
  for (std::string line; std::getline(expected_lines, line);) {
    std::string actual;
    if (!std::getline(said_lines, actual)) break;
    const bool open = line.ends_with("...");
    const std::string begin = open ? line.substr(0, line.size() - 3) : line;
    matched += (open && actual.starts_with(begin) ? line : actual) + "\n";
  }
  for (std::string line; std::getline(said_lines, line);) matched += line + "\n";
  EXPECT_EQ(matched, expected);
}

std::vector<std::string> bad_pipelines() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(SEAM_BAD_PIPELINES)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class BadPipeline : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::current_path(SEAM_BAD_PIPELINES);  // so that messages name files as a user would
  }
  void TearDown() override { fs::current_path(before_); }

 private:
  fs::path before_;
};

TEST_P(BadPipeline, IsExplained) {
  const fs::path folder = SEAM_BAD_PIPELINES;
  const std::string said = said_about(folder / (GetParam() + ".toml"));
  EXPECT_FALSE(said.empty()) << "no error is reported for this file";
  const fs::path expected = folder / (GetParam() + ".expected");
  if (std::getenv("SEAM_UPDATE_EXPECTED") !=
      nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
    std::ofstream(expected, std::ios::binary) << said;
  }
  ASSERT_TRUE(fs::exists(expected)) << "write what is expected into " << expected << ":\n" << said;
  compare(said, text_of(expected));
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

TEST_P(BadPipeline, IsExplainedTheSameFromRecordedDescriptions) {
  const fs::path file = fs::path(SEAM_BAD_PIPELINES) / (GetParam() + ".toml");
  const std::string said = said_about(file);
  const TemporaryFolder folder;
  for (int time = 0; time < 2; ++time) {  // the second one finds the records of the first
    DescriptionCache descriptions(folder.path());
    EXPECT_EQ(said_about(file, &descriptions), said) << time;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadPipeline, ::testing::ValuesIn(bad_pipelines()), test_name);

}  // namespace bad_pipelines_test
}  // namespace seam::host
