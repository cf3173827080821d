/// pipelines/demo-two-losses.toml, made small: two losses, dropout, a frozen part and accumulated
/// gradients together, with the real program and the real stages.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/system/run_fixture.hpp"

namespace seam::test::two_losses_test {

class TwoLossesTest : public RunFixture {
 protected:
  /// 64 triplets make six batches of at most 12, and the optimizer takes one step for every four of
  /// them and one for the remaining two.
  TwoLossesTest() : RunFixture("small.toml") {
    write_extension("small.toml", "demo-two-losses.toml", R"(
[stage.train_items]
root = "wardrobe"
items = 28
[stage.triplets]
per_epoch = 64
[stage.triplet_batch]
size = 36
[stage.model]
width = 8
primary_channels = 64
dropout = 0.3
freeze = ["f.0.*"]
[stage.adam]
accumulate = 4
warm_up = 3
gradient_norm = true
[schedule]
epochs = 2
each_epoch = ["train", "gallery", "evaluate"]
)");
  }
};

TEST_F(TwoLossesTest, EightThreadsTrainWhatOneDoes) {
  const std::string one = completed("one", 1);
  for (const char* loss : {"triplet_loss", "category_loss"}) {
    for (const char* name : {"loss", "total"}) {
      EXPECT_EQ(values_of(one, loss, name).size(), 12U) << loss;
    }
  }
  EXPECT_EQ(values_of(one, "category_loss", "accuracy").size(), 12U);
  EXPECT_EQ(values_of(one, "adam", "rate").size(), 4U) << "two steps an epoch";
  EXPECT_EQ(completed("eight", 8), one);
}

TEST_F(TwoLossesTest, TheFrozenPartStaysAsItIsAndAllElseLearns) {
  completed("out", 2);
  const auto first = weights("out", 1);
  const auto second = weights("out", 2);
  std::set<std::string> frozen;
  for (const auto& [name, entry] : second) {
    if (name.starts_with("adam/")) {
      EXPECT_EQ(name.find("f.0."), std::string::npos) << "an optimizer's state of a frozen weight";
    }
    if (!name.starts_with("model/")) continue;
    const bool stays = name.starts_with("model/f.0.");
    if (stays) frozen.insert(name.substr(std::string("model/f.0.").size()));
    EXPECT_EQ(entry == first.at(name), stays) << name;
  }
  EXPECT_EQ(frozen, (std::set<std::string>{"bn.bias", "bn.num_batches_tracked", "bn.running_mean",
                                           "bn.running_var", "bn.weight", "c.bias", "c.weight"}));
}

TEST_F(TwoLossesTest, EachLossHasItsEffect) {
  // The recorded values include the weight of a loss whether or not it affects the gradient, so the
  // network's own weights are compared.
  const auto model = [this](const std::string& directory, const std::string& without) {
    std::vector<std::string> more{"--set", "schedule.epochs=1"};
    if (!without.empty()) more.insert(more.end(), {"--set", "stage." + without + ".weight=0"});
    completed(directory, 2, more);
    auto found = weights(directory, 1);
    std::erase_if(found, [](const auto& entry) { return !entry.first.starts_with("model/"); });
    EXPECT_FALSE(found.empty());
    return found;
  };
  const auto both = model("both", "");
  const auto triplets = model("triplets", "category_loss");
  const auto categories = model("categories", "triplet_loss");
  EXPECT_FALSE(both == triplets);
  EXPECT_FALSE(both == categories);
  EXPECT_FALSE(triplets == categories);
}

}  // namespace seam::test::two_losses_test
