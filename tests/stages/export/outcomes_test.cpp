#include "stages/export/outcomes.hpp"

#include <gmock/gmock.h>

#include <seam/testing.hpp>

#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::outcomes_test {

namespace fs = std::filesystem;

Packet rows(const std::vector<Origin>& origins, const std::vector<std::int64_t>& indices) {
  Packet packet;
  packet.set(field::origins, origins);
  packet.set(field::indices, indices);
  return packet;
}

TEST(ObservationName, IsTheSameWhereverTheListLies) {
  const auto list = [](const char* path) { return std::make_shared<const std::string>(path); };
  const Packet packet = rows({{list("/data/Eval/list.txt"), 17, "img/a.jpg"},
                              {list("list.txt"), 17, "img/a.jpg"},
                              {list("train-images"), 0, "picture 7"},
                              {nullptr, 0, "a.jpg"},
                              {nullptr, 0, ""}},
                             {3, 4, 7, -1, -1});
  EXPECT_EQ(observation_name(packet, 0), "list.txt:17 (img/a.jpg)");
  EXPECT_EQ(observation_name(packet, 1), "list.txt:17 (img/a.jpg)");
  EXPECT_EQ(observation_name(packet, 2), "train-images#7 (picture 7)");
  EXPECT_EQ(observation_name(packet, 3), "(a.jpg)");
  EXPECT_EQ(observation_name(packet, 4), "");
  EXPECT_EQ(observation_name(Packet(), 0), "");
}

/// A stage that writes the outcomes of the test.
class Leaves final : public Sink {
 public:
  explicit Leaves(const std::vector<Outcome>& outcomes) : outcomes_(outcomes) {}
  void declare(Declaration& /*d*/) override {}
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
  void end(Context& context) override { write_outcomes({"r@1", "mrr"}, outcomes_, context); }

 private:
  const std::vector<Outcome>& outcomes_;
};

class WriteOutcomes : public ::testing::Test {
 protected:
  /// The error message, or empty.
  std::string write() {
    testing::Harness harness("recall", std::make_unique<Leaves>(outcomes_));
    harness.run_directory(folder_.path());
    harness.push(Packet());
    harness.finish();
    return harness.errors().empty() ? std::string() : harness.errors().front().what();
  }
  /// Content of the only file; empty if there is none.
  [[nodiscard]] std::string content() const {
    if (!fs::exists(folder_.path() / "outcomes")) return {};
    for (const auto& entry : fs::directory_iterator(folder_.path() / "outcomes")) {
      EXPECT_THAT(entry.path().filename().string(), ::testing::EndsWith(".recall.csv"));
      return test::text_of_file(entry.path());
    }
    return {};
  }

  test::TemporaryFolder folder_;
  std::vector<Outcome> outcomes_;
};

TEST_F(WriteOutcomes, ReplacesTheFileOfTheFlow) {
  outcomes_ = {{"a", "i", {1, 1.0 / 3}}};
  EXPECT_EQ(write(), "");
  EXPECT_EQ(content(), "epoch,observation,cluster,r@1,mrr\n0,a,i,1,0.3333333333333333\n");
  outcomes_ = {{"b, c", "i", {0, std::nullopt}}, {"d", "\"j\"", {1, 0.1}}};
  EXPECT_EQ(write(), "");
  EXPECT_EQ(content(),
            "epoch,observation,cluster,r@1,mrr\n0,\"b, c\",i,0,\n0,d,\"\"\"j\"\"\",1,0.1\n");
}

TEST_F(WriteOutcomes, WhatCannotBeToldApartLeavesNothing) {
  const std::vector<Outcome> good{{"a", "i", {1, 1}}, {"b", "i", {1, 1}}};
  for (const char* name : {"", "b"}) {
    outcomes_ = good;
    EXPECT_EQ(write(), "");
    EXPECT_NE(content(), "");
    outcomes_[0].observation = name;
    EXPECT_EQ(write(), "");
    EXPECT_EQ(content(), "")
        << "the file of an earlier evaluation would be mistaken for this one's";
  }
}

TEST_F(WriteOutcomes, AsManyValuesAsMetricsAreNeeded) {
  outcomes_ = {{"a", "i", {1}}};
  EXPECT_EQ(write(), "'a' has 1 values of 2 metrics");
  EXPECT_EQ(content(), "");
}

}  // namespace seam::stages::outcomes_test
