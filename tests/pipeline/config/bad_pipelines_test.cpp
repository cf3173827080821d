/// Each case in tests/bad_pipelines/*.case is a pipeline file that is broken in one way, with its
/// errors. SEAM_UPDATE_EXPECTED=1 rewrites the errors of cases that differ; review them before a
/// commit.
///
/// Comment lines at the top of a pipeline set the options and the environment:
///     # --set stage.scale.factor=9
///     # --variant small,fast
///     # environment HOME_OF_LISTS=/data

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/config/load.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::bad_pipelines_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

struct Case {
  std::string name;
  std::string pipeline;
  std::string expected;
};

constexpr std::string_view begins = "--- ";
constexpr std::string_view divides = "====";

/// `--- NAME`, the pipeline, `====` and its errors, for each case; empty lines separate the cases.
std::vector<Case> cases_of(const fs::path& file) {
  std::vector<Case> cases;
  std::string* part = nullptr;
  std::istringstream lines(test::text_of_file(file));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begins)) {
      cases.push_back({line.substr(begins.size()), "", ""});
      part = &cases.back().pipeline;
    } else if (part != nullptr && line == divides) {
      part = &cases.back().expected;
    } else if (part != nullptr) {
      *part += line + '\n';
    }
  }
  for (Case& one : cases) {
    while (one.expected.ends_with("\n\n")) one.expected.pop_back();
  }
  return cases;
}

void update(const fs::path& file, const Case& changed) {
  std::string text;
  for (const Case& one : cases_of(file)) {
    if (!text.empty()) text += '\n';
    text.append(begins).append(one.name + '\n' + one.pipeline).append(divides).append("\n");
    text += one.name == changed.name ? changed.expected : one.expected;
  }
  std::ofstream(file, std::ios::binary) << text;
}

LoadOptions options_of(const Case& one) {
  LoadOptions options;
  options.file = one.name + ".toml";
  options.search_path = {{{std::string(SEAM_TEST_PLUGINS) + "/good", "the tests"}}};
  std::istringstream lines(one.pipeline);
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

std::string said_about(const Case& one, DescriptionCache* descriptions = nullptr) {
  LoadOptions options = options_of(one);
  options.descriptions = descriptions;
  std::string text;
  for (const Problem& problem : load_pipeline(options).problems) text += to_text(problem);
  text = test::replaced(text, SEAM_TEST_PLUGINS, "<plugins>");
  return test::replaced(text, fs::current_path(), "<here>");
}

/// The text, in which lines are as expected if they match a line that ends in "...", which matches
/// all lines with that beginning.
std::string matched(const std::string& said, const std::string& expected) {
  std::istringstream said_lines(said);
  std::istringstream expected_lines(expected);
  std::string text;
  for (std::string line; std::getline(expected_lines, line);) {
    std::string actual;
    if (!std::getline(said_lines, actual)) break;
    const bool open = line.ends_with("...");
    const std::string begin = open ? line.substr(0, line.size() - 3) : line;
    text += (open && actual.starts_with(begin) ? line : actual) + "\n";
  }
  for (std::string line; std::getline(said_lines, line);) text += line + "\n";
  return text;
}

struct Place {
  fs::path file;
  Case found;
};

void PrintTo(const Place& place, std::ostream* out) {
  *out << place.found.name << " in " << place.file.filename();
}

std::vector<Place> bad_pipelines() {
  std::vector<Place> places;
  for (const auto& entry : fs::directory_iterator(SEAM_BAD_PIPELINES)) {
    if (entry.is_directory() || entry.path().filename() == "README.md") continue;
    for (Case& found : cases_of(entry.path())) places.push_back({entry.path(), std::move(found)});
  }
  std::ranges::sort(places, {}, [](const Place& place) { return place.found.name; });
  return places;
}

class BadPipeline : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    for (const char* shared : {"README.md", "bases", "plugins"}) {
      fs::copy(fs::path(SEAM_BAD_PIPELINES) / shared, folder_.path() / shared,
               fs::copy_options::recursive);
    }
    const Case& one = GetParam().found;
    folder_.write(one.name + ".toml", one.pipeline);
    fs::current_path(folder_.path());  // so that messages name files as a user would
  }
  void TearDown() override { fs::current_path(before_); }

 private:
  TemporaryFolder folder_;
  fs::path before_ = fs::current_path();
};

TEST_P(BadPipeline, IsExplained) {
  const auto& [file, found] = GetParam();
  const std::string said = said_about(found);
  EXPECT_FALSE(said.empty()) << "no error is reported for this file";
  const std::string text = matched(said, found.expected);
  const bool updates =  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
      std::getenv("SEAM_UPDATE_EXPECTED") != nullptr;
  if (updates && text != found.expected) {
    update(file, {found.name, found.pipeline, said});
  } else {
    EXPECT_EQ(text, found.expected);
  }
}

std::string test_name(const ::testing::TestParamInfo<Place>& info) {
  std::string name = info.param.found.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

TEST_P(BadPipeline, IsExplainedTheSameFromRecordedDescriptions) {
  const Case& found = GetParam().found;
  const std::string said = said_about(found);
  const TemporaryFolder folder;
  for (int time = 0; time < 2; ++time) {  // the second one finds the records of the first
    DescriptionCache descriptions(folder.path());
    EXPECT_EQ(said_about(found, &descriptions), said) << time;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadPipeline, ::testing::ValuesIn(bad_pipelines()), test_name);

}  // namespace seam::host::bad_pipelines_test
