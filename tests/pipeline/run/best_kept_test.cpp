/// best_kept().
#include <gtest/gtest.h>

#include <string>

#include "pipeline/run/checkpoint.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::best_kept_test {

class BestKeptTest : public ::testing::Test {
 protected:
  BestKeptTest() {
    line(0, "0.9");
    line(1, "0.5");
    line(1, "0.7", 1);  // the mean is 0.6
    line(2, "null");
    line(3, "0.6");
    line(4, "0.1");
    for (const int epochs : {2, 3, 4, 5}) {
      folder_.write("checkpoints/epoch-" + std::to_string(epochs) + ".safetensors", "");
    }
  }
  void line(int epoch, const std::string& value, int step = 0) {
    metrics_ += "{\"epoch\":" + std::to_string(epoch) +
                R"(,"flow":"evaluate","stage":"recall","name":"r@1","step":)" +
                std::to_string(step) + ",\"value\":" + value + "}\n";
  }
  std::optional<BestKept> best(const KeepRule& rule, std::optional<BestKept> before = {}) {
    folder_.write("metrics.jsonl", metrics_);
    return best_kept(rule, std::move(before), folder_.path() / "checkpoints",
                     folder_.path() / "metrics.jsonl", metrics_.size());
  }

  test::TemporaryFolder folder_;
  std::string metrics_;
  const KeepRule rule_{"recall.r@1", 2, Better::higher};
};

TEST_F(BestKeptTest, IsThatOfTheCheckpointWhereNothingElseIsKnown) {
  metrics_.clear();
  const BestKept known{"recall.r@1", 0.55, 4};
  EXPECT_EQ(best(rule_, known), known);
}

TEST_F(BestKeptTest, IsChosenAnewWhereTheDirectionHasChanged) {
  EXPECT_EQ(best({"recall.r@1", 2, Better::lower}, BestKept{"recall.r@1", 0.6, 2}),
            (BestKept{"recall.r@1", 0.1, 5}));
}

TEST_F(BestKeptTest, IsChosenAmongTheFilesThatAreThere) {
  const BestKept second{"recall.r@1", 0.6, 2};
  EXPECT_EQ(best(rule_), second) << "the earlier of two equal ones";
  EXPECT_EQ(best(rule_, BestKept{"recall.r@1", 0.9, 1}), second) << "its file was removed";
  EXPECT_EQ(best(rule_, BestKept{"loss.loss", 0.9, 4}), second) << "another metric";
  EXPECT_EQ(best({"recall.r@1", 2, Better::lower}), (BestKept{"recall.r@1", 0.1, 5}));
}

TEST_F(BestKeptTest, WithoutAMeasurementThereIsNone) {
  EXPECT_EQ(best({"recall.r@5", 2, Better::higher}), std::nullopt);
  EXPECT_EQ(best({}, BestKept{"recall.r@1", 0.6, 2}), std::nullopt) << "the rule has no metric";
}

}  // namespace seam::host::best_kept_test
