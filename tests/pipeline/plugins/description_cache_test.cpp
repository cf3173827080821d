#include "pipeline/plugins/description_cache.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <tuple>
#include <vector>

#include "pipeline/plugins/registry.hpp"
#include "seam/error.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::description_cache_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;
using ::testing::IsNull;
using ::testing::NotNull;

const fs::path good = fs::path(SEAM_TEST_PLUGINS) / "good";

// The bindings name every member, so that a new one cannot be forgotten here.
void expect_same(const ParameterInfo& a, const ParameterInfo& b) {
  const auto& [name, doc, unit, kind, value, required, least, most, choices, renamed_from,
               interface, folder_with, exists_in, initial, from_field, role, unused_with, only_with,
               is_preset, preset_defaults, assign, bind] = a;
  EXPECT_EQ(
      std::tie(name, doc, unit, kind, value, required, least, most, choices, renamed_from,
               interface, folder_with, exists_in, initial, from_field, role, unused_with, only_with,
               is_preset, preset_defaults),
      std::tie(b.name, b.doc, b.unit, b.kind, b.default_value, b.required, b.least, b.most,
               b.choices, b.renamed_from, b.interface, b.folder_with, b.exists_in, b.initial,
               b.from_field, b.role, b.unused_with, b.only_with, b.is_preset, b.preset_defaults))
      << name;
}

void expect_same(const std::vector<FieldInfo>& a, const std::vector<FieldInfo>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto& [name, type, contract, doc, gathered_type, gathered_contract, values, values_of] =
        a[i];
    EXPECT_EQ(
        std::tie(name, type, contract, doc, gathered_type, gathered_contract, values, values_of),
        std::tie(b[i].name, b[i].type, b[i].contract, b[i].doc, b[i].gathered_type,
                 b[i].gathered_contract, b[i].values, b[i].values_of));
  }
}

void expect_same(const std::vector<GatheredField>& a, const std::vector<GatheredField>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto& [from, name] = a[i];
    EXPECT_EQ(std::tie(from, name), std::tie(b[i].from, b[i].name));
  }
}

void expect_same(const Configured& a, const Configured& b) {
  const auto& [needs, accepts, provides, gathers, labels_read, headlines, keeps_state,
               state_made_by_flow, replaces_packets, trains, only_writes] = a;
  expect_same(needs, b.needs);
  expect_same(accepts, b.accepts);
  expect_same(provides, b.provides);
  expect_same(gathers, b.gathers);
  EXPECT_EQ(std::tie(labels_read, headlines, keeps_state, state_made_by_flow, replaces_packets,
                     trains, only_writes),
            std::tie(b.labels_read, b.headlines, b.keeps_state, b.state_made_by_flow,
                     b.replaces_packets, b.trains, b.only_writes));
}

void expect_same(const StageRunner& a, const StageRunner& b) {
  EXPECT_EQ(a.type(), b.type());
  EXPECT_EQ(a.kind(), b.kind());
  EXPECT_EQ(a.on_compute_thread(), b.on_compute_thread());
  const Description& said = a.description();
  const Description& known = b.description();
  EXPECT_EQ(known.doc, said.doc);
  ASSERT_EQ(known.parameters.size(), said.parameters.size());
  for (std::size_t i = 0; i < said.parameters.size(); ++i) {
    expect_same(said.parameters[i], known.parameters[i]);
  }
  ASSERT_EQ(known.offers.size(), said.offers.size());
  for (std::size_t i = 0; i < said.offers.size(); ++i) {
    EXPECT_EQ(known.offers[i].interface, said.offers[i].interface);
  }
  ASSERT_EQ(known.upstream.size(), said.upstream.size());
  for (std::size_t i = 0; i < said.upstream.size(); ++i) {
    EXPECT_EQ(known.upstream[i].interface, said.upstream[i].interface);
    EXPECT_EQ(known.upstream[i].doc, said.upstream[i].doc);
  }
  expect_same(static_cast<const Configured&>(said), static_cast<const Configured&>(known));
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
        continue;  // some are designed to throw
      }
      expect_same(*stage, *registry.describe(name, "it", &cache));
      ++compared;
    }
    EXPECT_EQ(registry.loaded().empty(), time == 1) << "the second time all is known";
    cache.save();
  }
  EXPECT_GT(compared, 20);
}

/// Sets every member of its description, with unusual values if they are allowed.
class Talkative final : public Stage {
 public:
  Talkative() : Stage(StageKind::collector) {}
  void declare(Declaration& declaration) override {
    Description& d = declaration.description();
    d.doc = "not UTF-8: \xff, and \"quoted\"";
    const std::vector<Value> values{true,
                                    std::int64_t{-5},
                                    0.1,
                                    std::string("text"),
                                    std::vector<std::int64_t>{1, 2},
                                    std::vector<double>{0.25, -1.0 / 3},
                                    std::vector<double>{},
                                    std::vector<std::string>{"a", ""},
                                    std::numeric_limits<double>::infinity()};
    for (const Value& value : values) {
      ParameterInfo& p = d.parameters.emplace_back();
      p.name = "p" + std::to_string(d.parameters.size());
      p.doc = "what it is for";
      p.unit = "px";
      p.kind = d.parameters.size() == 1 ? ValueKind::boolean : ValueKind::enumerations;
      p.default_value = value;
      p.required = true;
      p.least = -std::numeric_limits<double>::infinity();
      p.most = 0.1;
      p.choices = {"a", "b"};
      p.renamed_from = {"q"};
      p.interface = "Lookup";
      p.folder_with = {"img", "a|b"};
      p.exists_in = "root";
      p.initial = true;
      p.from_field = true;
      p.role = ParameterRole::replicate;
      p.unused_with = Condition{"parts", {value}};
      p.only_with = Condition{"mode", {value, Value{std::string("a")}}};
      p.is_preset = std::holds_alternative<std::string>(value);
      p.preset_defaults = {{"published", value}, {"released", std::nullopt}};
    }
    d.parameters.emplace_back().folder_with.emplace();
    d.parameters.emplace_back();
    d.needs = {{"n", "long int", "f32[N]", "needed"}};
    d.accepts = {{"a", "long int", "*[N,20+]", "accepted"}};
    d.provides = {{"p", "long int", "", "", "at::Tensor", "i64[N]", {"anchor", ""}, "role"}};
    d.gathers = {{"view", "views"}};
    d.labels_read = {"category"};
    d.headlines = {{"*.r@1", Better::lower}};
    d.keeps_state = true;
    d.state_made_by_flow = true;
    d.replaces_packets = true;
    d.trains = true;
    d.only_writes = true;
    d.offers = {{"Lookup", nullptr}};
    d.upstream = {{"Link", "all of them", nullptr, nullptr}};
  }
  [[nodiscard]] bool on_compute_thread() const override { return true; }
};

TEST(DescriptionCache, CarriesEveryMember) {
  const TemporaryFolder folder;
  const fs::path plugin = folder.write("plugin.so", "any file");
  const StageRunner stage("it", "talk.ative", std::make_unique<Talkative>());
  {
    DescriptionCache cache(folder.path() / "cache");
    cache.record(plugin, stage);
    cache.record_configured(plugin, stage, {{"p1", Value{false}}});
    cache.save();
  }
  DescriptionCache cache(folder.path() / "cache");
  ASSERT_TRUE(cache.knows(plugin, "talk.ative", {{"p1", Value{false}}}));
  StageRunner recorded("it", "talk.ative", cache.recorded(plugin, "talk.ative"));
  expect_same(stage, recorded);
  recorded.configure({{"p1", Value{false}}});
  expect_same(static_cast<const Configured&>(stage.description()),
              static_cast<const Configured&>(recorded.description()));
}

class DescriptionCacheTest : public ::testing::Test {
 protected:
  DescriptionCacheTest() {
    for (const auto& entry : fs::directory_iterator(good)) {
      if (entry.path().extension() == ".so") plugin_ = folder_.path() / entry.path().filename();
      if (entry.path().extension() == ".so") fs::copy_file(entry.path(), plugin_);
    }
    Registry registry({{plugin_, "the test"}}, 1);
    configured_ = registry.make("fixture.images", "it");
    DescriptionCache cache(cached());
    cache.record(plugin_, *configured_);
    configured_->configure(values_);
    cache.record_configured(plugin_, *configured_, values_);
    cache.save();
  }
  [[nodiscard]] fs::path cached() const { return folder_.path() / "cache"; }

  TemporaryFolder folder_;
  fs::path plugin_;
  DescriptionCache::Values values_{{"channels", Value{std::int64_t{1}}}};
  std::unique_ptr<StageRunner> configured_;
};

TEST_F(DescriptionCacheTest, KnowsTheValuesThatWereAskedFor) {
  DescriptionCache cache(cached());
  ASSERT_TRUE(cache.knows(plugin_, "fixture.images", values_));
  EXPECT_TRUE(cache.knows(plugin_, "fixture.images", {})) << "the defaults";
  EXPECT_FALSE(cache.knows(plugin_, "fixture.images", {{"channels", Value{std::int64_t{4}}}}));
  EXPECT_FALSE(cache.knows(plugin_, "fixture.scale", {}));
  StageRunner stage("it", "fixture.images", cache.recorded(plugin_, "fixture.images"));
  stage.configure(values_);
  expect_same(*configured_, stage);
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

}  // namespace seam::host::description_cache_test
