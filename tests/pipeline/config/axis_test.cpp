#include "pipeline/config/axis.hpp"

#include <utility>

#include "tests/support/matchers.hpp"

namespace seam::host::axis_test {

TEST(Axis, ListsValuesAsSetTakesThem) {
  const Axis axis = parse_axis("stage.triplet_loss.margin=0.2, 0.5,1");
  EXPECT_THAT(axis.keys, ElementsAre("stage.triplet_loss.margin"));
  EXPECT_THAT(axis.values, ElementsAre("0.2", "0.5", "1"));
  EXPECT_FALSE(axis.interval);
}

TEST(Axis, CommasInListsTablesAndQuotesDoNotSeparate) {
  EXPECT_THAT(parse_axis(R"(stage.a.freeze=["x","y"],[],"a,b",'c,"d')").values,
              ElementsAre(R"(["x","y"])", "[]", R"("a,b")", R"('c,"d')"));
  EXPECT_THAT(parse_axis(R"(stage.a.on_error={ retry = 1 },"skip")").values,
              ElementsAre("{ retry = 1 }", "\"skip\""));
  EXPECT_THAT(parse_axis(R"(stage."odd=name".x=1)").keys, ElementsAre(R"(stage."odd=name".x)"));
}

TEST(Axis, IntegerRangesAreWrittenOut) {
  EXPECT_THAT(parse_axis("pipeline.seed=1..3").values, ElementsAre("1", "2", "3"));
  EXPECT_THAT(parse_axis("pipeline.seed=2..2").values, ElementsAre("2"));
  EXPECT_THAT(parse_axis("pipeline.seed=-1..1,7").values, ElementsAre("-1", "0", "1", "7"));
}

TEST(Axis, OtherRangesAreDrawnFrom) {
  const Axis rate = parse_axis("stage.adam.rate=1e-4..1e-2:log");
  EXPECT_THAT(rate.values, IsEmpty());
  EXPECT_EQ(rate.interval, (Interval{1e-4, 1e-2, Scale::logarithmic, Numbers::real}));
  EXPECT_EQ(parse_axis("stage.a.b=0.1..0.9").interval,
            (Interval{0.1, 0.9, Scale::linear, Numbers::real}));
  EXPECT_EQ(parse_axis("stage.a.b=8..512:log").interval,
            (Interval{8, 512, Scale::logarithmic, Numbers::whole}));
}

TEST(Axis, TextsWithDotsAreNoRanges) {
  EXPECT_THAT(parse_axis("stage.a.root=../data,\"1..3\"").values,
              ElementsAre("../data", "\"1..3\""));
}

TEST(Axis, KeysMayChangeTogether) {
  EXPECT_THAT(parse_axis("stage.train.fold,stage.query.fold=0..1").keys,
              ElementsAre("stage.train.fold", "stage.query.fold"));
}

TEST(Axis, RefusalsSayWhy) {
  for (const auto& one : {
           std::pair("stage.a.b", "it takes KEY=VALUES"),
           {"margin=1", "it takes KEY=VALUES"},
           {"stage.a.b=", "a value is empty"},
           {"stage.a.b=1,,2", "a value is empty"},
           {"stage.a.b=1,2,1", "the value '1' is given twice"},
           {"stage.a.b=3..1", "from a smaller number to a larger one"},
           {"pipeline.seed=9007199254740993..9007199254740993", "2^53 or more"},
           {"pipeline.seed=1..9223372036854775807", "2^53 or more"},
           {"stage.a.b=0.5..0.5", "from a smaller number to a larger"},
           {"stage.a.b=2..2:log", "from a smaller number to a larger one"},
           {"stage.a.b=nan..1", "from a smaller number to a larger one"},
           {"stage.a.b=0..1:log", "numbers above 0"},
           {"stage.a.b=1..2:lin", "only ':log'"},
           {"stage.a.b=0.1..0.5,0.7", "must be the only value"},
           {"pipeline.seed=1..1000000", "up to 10000 values"},
           {"pipeline.threads=1,2", "--threads"},
       }) {
    EXPECT_REFUSED((void)parse_axes({one.first}), Fault::configuration, one.second);
  }
  EXPECT_REFUSED((void)parse_axes({"stage.a.b=1", "stage.a.b=2"}), Fault::configuration,
                 "'stage.a.b' is given twice");
}

}  // namespace seam::host::axis_test
