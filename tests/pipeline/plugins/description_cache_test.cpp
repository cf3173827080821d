#include "pipeline/plugins/description_cache.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pipeline/plugins/registry.hpp"
#include "seam/error.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host {
namespace {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;
using ::testing::IsNull;
using ::testing::NotNull;

const fs::path good = fs::path(SEAM_TEST_PLUGINS) / "good";

/// All that can be compared of what a stage says.
std::string dump(const StageRunner& stage) {
  const Description& d = stage.description();
  std::string text = stage.type() + " " + std::to_string(static_cast<int>(stage.kind())) +
                     (stage.on_compute_thread() ? " compute" : "") + "\n" + d.doc + "\n";
  for (const ParameterInfo& p : d.parameters) {
    text += p.name + "|" + p.doc + "|" + p.unit + "|" + std::to_string(static_cast<int>(p.kind)) +
            "|" + (p.default_value ? to_text(*p.default_value) : "none") + "|" +
            (p.required ? "required" : "") + "|" + (p.least ? std::to_string(*p.least) : "") + "|" +
            (p.most ? std::to_string(*p.most) : "") + "|" + p.interface + "|" + accepted_by(p);
    for (const std::string& old_name : p.renamed_from) text += " was " + old_name;
    text += "\n";
  }
  for (const auto* fields : {&d.needs, &d.accepts, &d.provides}) {
    for (const FieldInfo& f : *fields) {
      text += f.name + "|" + f.type + "|" + f.contract + "|" + f.doc + "\n";
    }
    text += "-\n";
  }
  for (const OfferedInterface& o : d.offers) text += "offers " + o.interface + "\n";
  for (const UpstreamReference& u : d.upstream) text += "upstream " + u.interface + u.doc + "\n";
  for (const std::string& label : d.labels_read) text += "reads " + label + "\n";
  return text + (d.keeps_state ? "keeps" : "") + (d.replaces_packets ? "replaces" : "") +
         (d.trains ? "trains" : "");
}

TEST(DescriptionCache, RecordsSayWhatTheStagesSaid) {
  const TemporaryFolder folder;
  int compared = 0;
  for (int time = 0; time < 2; ++time) {
    Registry registry({{good, "the test"}}, 1);
    DescriptionCache cache(folder.path());
    for (const std::string& name : registry.stage_names()) {
      std::unique_ptr<StageRunner> stage;
      try {
        stage = Registry({{good, "the test"}}, 1).make(name, "it");
      } catch (const Error&) {
        continue;  // some are made to throw
      }
      EXPECT_EQ(dump(*registry.describe(name, "it", &cache)), dump(*stage));
      ++compared;
    }
    EXPECT_EQ(registry.loaded().empty(), time == 1) << "the second time all is known";
    cache.save();
  }
  EXPECT_GT(compared, 20);
}

class DescriptionCacheTest : public ::testing::Test {
 protected:
  DescriptionCacheTest() {
    for (const auto& entry : fs::directory_iterator(good)) {
      if (entry.path().extension() == ".so") plugin_ = folder_.path() / entry.path().filename();
      if (entry.path().extension() == ".so") fs::copy_file(entry.path(), plugin_);
    }
    Registry registry({{plugin_, "the test"}}, 1);
    const auto stage = registry.make("fixture.images", "it");
    DescriptionCache cache(cached());
    cache.record(plugin_, *stage);
    stage->configure(values_);
    cache.record_configured(plugin_, *stage, values_);
    configured_ = dump(*stage);
    cache.save();
  }
  [[nodiscard]] fs::path cached() const { return folder_.path() / "cache"; }

  TemporaryFolder folder_;
  fs::path plugin_;
  DescriptionCache::Values values_{{"channels", Value{std::int64_t{1}}}};
  std::string configured_;
};

TEST_F(DescriptionCacheTest, KnowsTheValuesThatWereAskedFor) {
  DescriptionCache cache(cached());
  ASSERT_TRUE(cache.knows(plugin_, "fixture.images", values_));
  EXPECT_TRUE(cache.knows(plugin_, "fixture.images", {})) << "the defaults";
  EXPECT_FALSE(cache.knows(plugin_, "fixture.images", {{"channels", Value{std::int64_t{4}}}}));
  EXPECT_FALSE(cache.knows(plugin_, "fixture.scale", {}));
  StageRunner stage("it", "fixture.images", cache.recorded(plugin_, "fixture.images"));
  stage.configure(values_);
  EXPECT_EQ(dump(stage), configured_);
}

TEST_F(DescriptionCacheTest, AChangedPluginIsNotKnown) {
  std::ofstream(plugin_, std::ios::app) << "more";
  DescriptionCache cache(cached());
  EXPECT_THAT(cache.recorded(plugin_, "fixture.images"), IsNull());
  EXPECT_FALSE(cache.knows(plugin_, "fixture.images", {}));
}

TEST_F(DescriptionCacheTest, ADamagedRecordIsNone) {
  for (const char* text : {"", "{", "{\"identity\": 5}", "[]"}) {
    for (const auto& entry : fs::directory_iterator(cached())) std::ofstream(entry.path()) << text;
    EXPECT_THAT(DescriptionCache(cached()).recorded(plugin_, "fixture.images"), IsNull()) << text;
  }
}

TEST_F(DescriptionCacheTest, AFolderThatCannotBeWrittenIsNoFault) {
  Registry registry({{plugin_, "the test"}}, 1);
  DescriptionCache cache("/proc/no/such/folder");
  EXPECT_THAT(registry.describe("fixture.scale", "it", &cache), NotNull());
  cache.save();
  EXPECT_THAT(cache.recorded(plugin_, "fixture.scale"), NotNull()) << "this program still knows";
}

}  // namespace
}  // namespace seam::host
