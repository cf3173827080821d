#include "pipeline/run/metrics_file.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::metrics_file_test {

class MetricsFile : public ::testing::Test {
 protected:
  LastLine read(const std::string& text, std::uint64_t size = all_of_it) {
    lines_.clear();
    return read_metrics(
        folder_.write("metrics.jsonl", text),
        [this](MetricLine&& line) { lines_.push_back(std::move(line)); }, size);
  }

  test::TemporaryFolder folder_;
  std::vector<MetricLine> lines_;
};

TEST_F(MetricsFile, GivesBackWhatIsNoNumberOfJson) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(read(R"({"epoch":3,"flow":"train","stage":"loss","name":"none.r@1","step":2,"value":0.5}
{"epoch":3,"flow":"train","stage":"loss","name":"loss","step":0,"value":null}
{"epoch":3,"flow":"test","stage":"loss","name":"loss","step":0,"value":1e999,"when":"after"}
{"epoch":3,"flow":"test","stage":"loss","name":"\"value\":1e999","step":1,"value":-1e999,"when":"after"}
)"),
            LastLine::whole);
  ASSERT_EQ(lines_.size(), 4U);
  EXPECT_EQ(lines_[0].epoch, 3);
  EXPECT_EQ(lines_[0].flow, "train");
  EXPECT_EQ(lines_[0].metric(), "loss.none.r@1");
  EXPECT_EQ(lines_[0].step, 2U);
  EXPECT_EQ(lines_[0].value, 0.5);
  EXPECT_EQ(lines_[0].when, "");
  EXPECT_TRUE(std::isnan(lines_[1].value));
  EXPECT_EQ(lines_[2].value, infinity);
  EXPECT_EQ(lines_[2].when, "after");
  EXPECT_EQ(lines_[3].value, -infinity);
  EXPECT_EQ(lines_[3].name, "\"value\":1e999");
}

constexpr const char* whole = R"({"epoch":0,"flow":"f","stage":"s","name":"n","step":0,"value":4})"
                              "\n";

TEST_F(MetricsFile, ALineThatIsBeingWrittenIsLeftOut) {
  EXPECT_EQ(read(std::string(whole) + R"({"epoch":0,"flow":"f","sta)"), LastLine::incomplete);
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(MetricsFile, OnlyTheFirstBytesAreRead) {
  const std::string line = whole;
  EXPECT_EQ(read(line + line + "damaged\n", 2 * line.size()), LastLine::whole);
  EXPECT_EQ(lines_.size(), 2U);
  read(line, 0);
  EXPECT_THAT(lines_, IsEmpty());
  for (const std::uint64_t size : {line.size() - 1, line.size() + 1, 2 * line.size()}) {
    EXPECT_REFUSED(read(line, size), Fault::data, "it should contain complete lines up to byte")
        << size;
  }
}

TEST_F(MetricsFile, ADamagedLineIsNamed) {
  const std::string file = (folder_.path() / "metrics.jsonl").string();
  for (const char* line :
       {"", "{}", "[]", R"({"epoch":0,"flow":"train","stage":"loss","name":"loss","st)",
        R"({"epoch":0,"flow":"train","stage":"loss","name":"loss","step":0,"value":x})",
        R"({"epoch":"0","flow":"train","stage":"loss","name":"loss","step":0,"value":1})",
        R"({"epoch":0,"flow":"train","name":"loss","step":0,"value":1})"}) {
    EXPECT_REFUSED(read(std::string(whole) + line + "\n" + whole), Fault::data,
                   "line 2 of '" + file + "' is not a valid metric")
        << line;
  }
}

TEST_F(MetricsFile, AMissingFileIsRefusedUnlessNothingIsWanted) {
  const auto nothing = [](MetricLine&&) {};
  EXPECT_REFUSED(read_metrics(folder_.path() / "none", nothing), Fault::data, "cannot open '");
  EXPECT_EQ(read_metrics(folder_.path() / "none", nothing, 0), LastLine::whole);
}

}  // namespace seam::host::metrics_file_test
