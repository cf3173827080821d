#include "pipeline/config/roles.hpp"

#include <memory>

#include "pipeline/config/stages.hpp"
#include "seam/stage.hpp"
#include "tests/pipeline/config/load_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::roles_test {

using ::testing::Pair;

constexpr const char* shares = R"([stage.numbers]
use = "fixture.shares"
part = 1

[stage.total]
use = "fixture.total"

[stage.album]
use = "fixture.album"

[flow]
main = "numbers -> {total, album}"
)";

class RolesTest : public Load {
 protected:
  static Parameters parameters(const CheckedPipeline& pipeline) {
    return parameters_of(pipeline.spec.resolved, "resolved.toml");
  }
};

TEST_F(RolesTest, AreWhatStagesDeclare) {
  const CheckedPipeline pipeline = loaded(shares);
  EXPECT_THAT(pipeline.spec.roles.texts(),
              ElementsAre(Pair("pipeline.seed", "replicate"), Pair("stage.album", "only_writes"),
                          Pair("stage.numbers.draw", "replicate"),
                          Pair("stage.numbers.lanes", "same_results"),
                          Pair("stage.numbers.part", "replicate unless stage.numbers.parts = 1"),
                          Pair("stage.numbers.rules", "protocol")));
}

class Collecting final : public Collector {
 public:
  explicit Collecting(bool replaces) : replaces_(replaces) {}
  void declare(Declaration& d) override {
    if (replaces_) d.replaces_packets();
  }
  void process(Packet /*packet*/, Emitter& /*emitter*/, Context& /*context*/) override {}

 private:
  bool replaces_;
};

TEST(RolesOf, ACollectorThatPassesOnItsPacketsSamples) {
  std::vector<StageDraft> drafts(2);
  for (const bool replaces : {false, true}) {
    StageDraft& draft = drafts.at(replaces ? 1 : 0);
    draft.spec.name = replaces ? "batch" : "pairs";
    draft.runner = std::make_unique<StageRunner>(draft.spec.name, "test.collecting",
                                                 std::make_unique<Collecting>(replaces));
  }
  const Roles roles = roles_of(drafts);
  EXPECT_TRUE(roles.samples("pairs", {}));
  EXPECT_FALSE(roles.samples("batch", {}));
  EXPECT_FALSE(roles.samples("old", {{"stage.old.use", "\"sampling.pairs\""}}));
}

TEST_F(RolesTest, DecideRegardlessOfNames) {
  const CheckedPipeline pipeline = loaded(shares);
  const Roles& roles = pipeline.spec.roles;
  EXPECT_TRUE(roles.is_replicate("pipeline.seed"));
  EXPECT_TRUE(roles.is_replicate("stage.numbers.part"));
  EXPECT_FALSE(roles.is_replicate("stage.numbers.fold"));
  EXPECT_FALSE(roles.changes_results("stage.numbers.lanes"));
  EXPECT_TRUE(roles.changes_results("stage.numbers.threads"));
  EXPECT_FALSE(roles.changes_results("stage.numbers.concurrency"));
  EXPECT_FALSE(roles.changes_results("schedule.keep.best"));
  EXPECT_TRUE(roles.changes_results("schedule.keeper"));
  EXPECT_EQ(roles.protocol_of("numbers", parameters(pipeline)), "stage.numbers.rules");
  EXPECT_EQ(roles.protocol_of("total", parameters(pipeline)), "");
  EXPECT_TRUE(roles.only_writes("album", parameters(pipeline)));
  EXPECT_FALSE(roles.only_writes("total", parameters(pipeline)));
}

TEST_F(RolesTest, AReplicateMaySelectNothing) {
  const CheckedPipeline pipeline = loaded(shares);
  EXPECT_TRUE(pipeline.spec.roles.is_used("stage.numbers.part", parameters(pipeline)));
  EXPECT_TRUE(pipeline.spec.roles.is_used("stage.numbers.draw", parameters(pipeline)));
  const CheckedPipeline whole = loaded(shares, {"stage.numbers.parts=1"});
  EXPECT_FALSE(whole.spec.roles.is_used("stage.numbers.part", parameters(whole)));
  EXPECT_TRUE(whole.spec.roles.is_used("stage.numbers.draw", parameters(whole)));
  EXPECT_FALSE(whole.spec.roles.is_used("stage.other.part", parameters(whole)));
}

TEST(Roles, PathsReferencesAndTrainingAreRecordedOrFollowFromNames) {
  const Roles roles(Roles::Texts{{"stage.items.where", "path"},
                                 {"stage.search.index", "reference"},
                                 {"stage.steps", "trains"}});
  EXPECT_TRUE(roles.is_path("stage.items.where"));
  EXPECT_FALSE(roles.is_path("stage.items.root"));
  EXPECT_TRUE(roles.may_refer("stage.search.index"));
  EXPECT_FALSE(roles.may_refer("stage.items.split"));
  const Parameters parameters{{"stage.adam.use", "\"train.adam\""},
                              {"stage.pairs.use", "\"sampling.pairs\""}};
  EXPECT_TRUE(roles.trains("steps", parameters));
  EXPECT_FALSE(roles.trains("adam", parameters));
  const Roles earlier;
  EXPECT_TRUE(earlier.is_path("stage.items.root"));
  EXPECT_TRUE(earlier.may_refer("stage.items.split"));
  EXPECT_FALSE(earlier.may_refer("stage.items.use"));
  EXPECT_TRUE(earlier.trains("adam", parameters));
  EXPECT_TRUE(earlier.samples("pairs", parameters));
  EXPECT_FALSE(earlier.samples("adam", parameters));
}

TEST(Roles, OfEarlierVersionsFollowFromNames) {
  const Roles roles;
  EXPECT_TRUE(roles.is_replicate("pipeline.seed"));
  EXPECT_TRUE(roles.is_replicate("stage.items.fold"));
  EXPECT_TRUE(roles.is_replicate("stage.items.leave_out_fold"));
  EXPECT_FALSE(roles.is_replicate("pipeline.fold"));
  EXPECT_FALSE(roles.is_replicate("stage.items.seed"));
  EXPECT_FALSE(roles.is_replicate("stage.items.folds"));
  const Parameters parameters{{"stage.album.use", "\"report.pictures\""},
                              {"stage.items.fold", "0"},
                              {"stage.items.folds", "1"},
                              {"stage.items.use", "\"dataset.table\""},
                              {"stage.recall.protocol", "\"shop\""}};
  EXPECT_FALSE(roles.is_used("stage.items.fold", parameters));
  EXPECT_FALSE(roles.changes_results("stage.items.threads"));
  EXPECT_TRUE(roles.only_writes("album", parameters));
  EXPECT_FALSE(roles.only_writes("items", parameters));
  EXPECT_EQ(roles.protocol_of("recall", parameters), "stage.recall.protocol");
}

}  // namespace seam::host::roles_test
