/// Equal protocol texts mean comparable results: every parameter before a metric is varied, and the
/// results may change only together with the protocol text.
#include <torch/utils.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/stages/retrieval/batches.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::protocol_test {

using retrieval_test::batch;
using retrieval_test::Retrieval;
using retrieval_test::Texts;

/// Images of ten items in two categories, some of them hard to find, one item missing in the
/// gallery; capsules of unequal lengths and a model that is wrong about some.
Packet pictures(std::int64_t count, std::uint64_t seed) {
  torch::manual_seed(seed);
  Texts items;
  std::vector<std::int64_t> categories;
  std::vector<std::int64_t> predicted;
  for (std::int64_t i = 0; i < count; ++i) {
    items.push_back("item" + std::to_string(i % 10));
    categories.push_back(i % 2);
    predicted.push_back(i / 2 % 2);
  }
  const Tensor centres = torch::arange(10, torch::kFloat32).repeat({count / 10}).view({count, 1});
  const Tensor capsules = (torch::randn({count, 2, 2}) + centres.view({count, 1, 1}) * 0.2);
  Packet packet = batch(0, items, capsules.flatten(1));
  packet.set(field::categories, categories);
  packet.set(field::capsules, capsules);
  packet.set(field::predicted_category, torch::tensor(predicted, torch::kInt64));
  packet.set(field::images, torch::zeros({count, 3, 8, 8}));
  return packet;
}

struct Setting {
  std::string stage;
  std::string parameter;
  Value value;
};

/// By "protocol metric": what was measured.
using Numbers = std::map<std::string, double>;

std::vector<std::string> protocols_of(const std::string& report) {
  std::vector<std::string> found;
  std::size_t at = report.find('`');
  while (at != std::string::npos) {
    const std::size_t end = report.find('`', at + 1);
    found.push_back(report.substr(at + 1, end - at - 1));
    at = report.find('`', end + 1);
  }
  return found;
}

Numbers measured(const std::vector<Setting>& settings) {
  Retrieval stages;
  stages.masks({"none", "predicted", "ground_truth"});
  stages.search.set("k", 30);
  stages.recall.set("k", std::vector<std::int64_t>{1, 5, 20});
  for (const Setting& setting : settings) {
    seam::testing::Harness& stage = setting.stage == "index"    ? stages.index
                                    : setting.stage == "search" ? stages.search
                                                                : stages.recall;
    stage.set(setting.parameter, setting.value);
  }
  stages.index.push(pictures(60, 1)).finish();
  Packet queries = pictures(60, 1);
  Texts items = queries.get(field::items);
  const bool one_list = settings.empty() ? false : settings.front().parameter == "exclude_self";
  if (!one_list) {
    queries = pictures(60, 2);
    for (std::string& item : items) item = item == "item9" ? "not there" : item;
    queries.set(field::items, items);
  }
  stages.evaluate({queries});
  EXPECT_TRUE(stages.index.errors().empty() && stages.search.errors().empty());
  EXPECT_TRUE(stages.recall.errors().empty()) << stages.recall.errors().at(0).full_message();
  Numbers numbers;
  const std::vector<std::string> protocols = protocols_of(stages.recall.reports().at(0).text);
  for (const auto& [name, values] : stages.recall.metrics()) {
    const std::string mask = name.substr(0, name.find('.'));
    for (const std::string& protocol : protocols) {
      if (protocol.ends_with("/mask=" + mask)) numbers[protocol + " " + name] = values.back();
    }
    if (mask == name) numbers[protocols.at(0) + " " + name] = values.back();  // the first mask's
  }
  return numbers;
}

std::set<std::string> protocols_of(const Numbers& numbers) {
  std::set<std::string> all;
  for (const auto& [text, number] : numbers) all.insert(text.substr(0, text.find(' ')));
  return all;
}

TEST(Protocol, NumbersAndTextChangeTogetherWhateverParameterChanges) {
  // Each parameter, with what it is changed to.
  const std::map<std::string, std::vector<std::vector<Setting>>> variations{
      {"index.masks", {{{"index", "masks", Value{Texts{"ground_truth", "predicted", "none"}}}}}},
      {"index.metric", {{{"index", "metric", Value{std::string("cosine")}}}}},
      {"search.index", {}},
      {"search.masks",
       {{{"search", "masks", Value{Texts{"predicted", "none"}}}},
        {{"search", "masks", Value{Texts{"ground_truth"}}}}}},
      {"search.k",
       {{{"search", "k", Value{std::int64_t{20}}}},
        {{"search", "k", Value{std::int64_t{60}}}},
        {{"search", "k", Value{std::int64_t{5000}}}}}},
      {"search.exclude_self", {{{"search", "exclude_self", Value{true}}}}},
      {"recall.k",
       {{{"recall", "k", Value{std::vector<std::int64_t>{1, 5}}}},
        {{"recall", "k", Value{std::vector<std::int64_t>{1, 30}}}}}},
      {"recall.lone_queries", {{{"recall", "lone_queries", Value{std::string("miss")}}}}},
      {"recall.per_category", {{{"recall", "per_category", Value{false}}}}},
      {"recall.ranking_metrics", {{{"recall", "ranking_metrics", Value{true}}}}},
      {"recall.trained_on", {}},
      {"recall.protocol", {{{"recall", "protocol", Value{std::string("garments")}}}}},
      {"recall.expected_queries", {{{"recall", "expected_queries", Value{std::int64_t{7}}}}}},
      {"recall.expected_gallery", {{{"recall", "expected_gallery", Value{std::int64_t{7}}}}}},
      {"recall.expected_height", {{{"recall", "expected_height", Value{std::int64_t{7}}}}}},
      {"recall.expected_width", {{{"recall", "expected_width", Value{std::int64_t{7}}}}}},
  };
  Retrieval stages;
  for (seam::testing::Harness* stage : {&stages.index, &stages.search, &stages.recall}) {
    const std::string name = stage == &stages.index    ? "index."
                             : stage == &stages.search ? "search."
                                                       : "recall.";
    for (const ParameterInfo& parameter : stage->runner().description().parameters) {
      EXPECT_TRUE(variations.contains(name + parameter.name))
          << "this test does not know what " << name << parameter.name << " does to numbers";
    }
  }

  const Numbers usual = measured({});
  ASSERT_GT(usual.size(), 40);
  EXPECT_THAT(protocols_of(usual),
              Contains("unnamed/input=8x8/images=60-in-60/full-gallery/l2/ties=id/self=kept/"
                       "lone=6-left-out/mask=none"));
  for (const auto& [parameter, settings] : variations) {
    for (const std::vector<Setting>& setting : settings) {
      const Numbers changed = measured(setting);
      bool some_number_changed = false;
      for (const auto& [text, number] : changed) {
        const auto before = usual.find(text);
        if (before != usual.end()) {
          EXPECT_EQ(number, before->second) << parameter << " changes a number under " << text;
        }
        // The same mask and metric, whatever the protocol says.
        const std::string metric = text.substr(text.find("/mask="));
        for (const auto& [old_text, old_number] : usual) {
          if (old_text.ends_with(metric) && old_number != number) some_number_changed = true;
        }
      }
      std::set<std::string> added;
      std::ranges::set_difference(protocols_of(changed), protocols_of(usual),
                                  std::inserter(added, added.end()));
      // `protocol` is the user's name for the data, which no stage knows here.
      if (parameter != "recall.protocol") {
        EXPECT_TRUE(added.empty() || some_number_changed)
            << parameter << " changes the text alone: " << *added.begin();
      }
    }
  }
}

TEST(Protocol, TheCutOfAMetricIsPartOfItsName) {
  Numbers deep = measured({{"recall", "k", Value{std::vector<std::int64_t>{1, 30}}}});
  const std::string none =
      "unnamed/input=8x8/images=60-in-60/full-gallery/l2/ties=id/self=kept/lone=6-left-out/"
      "mask=none ";
  EXPECT_TRUE(deep.contains(none + "none.mrr@30"));
  EXPECT_FALSE(deep.contains(none + "none.mrr@20"));
  EXPECT_NE(deep.at(none + "none.mrr@30"), measured({}).at(none + "none.mrr@20"));
}

}  // namespace seam::stages::protocol_test
