#include "pipeline/run/labels_read.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "pipeline/config/load.hpp"
#include "seam/stage.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::labels_read_test {

using Declare = std::function<void(Declaration&)>;

class Declared final : public Transform {
 public:
  explicit Declared(Declare declare) : declare_(std::move(declare)) {}
  void declare(Declaration& d) override { declare_(d); }
  void process(Packet& /*packet*/, Context& /*context*/) override {}

 private:
  Declare declare_;
};

/// Stands in for a tensor, because the host does not depend on LibTorch.
void provides(Declaration& d, const std::string& field) {
  d.description().provides.push_back({field, "torch::Tensor", "", ""});
}

/// A scheduled flow with one stage.
CheckedPipeline pipeline(const Declare& declare) {
  CheckedPipeline checked;
  checked.spec.stages.emplace_back().name = "stage";
  checked.stages["stage"] =
      std::make_unique<StageRunner>("stage", "test.stage", std::make_unique<Declared>(declare));
  checked.stages["stage"]->configure({});
  FlowSpec& flow = checked.spec.flows.emplace_back();
  flow.name = "evaluate";
  flow.nodes.emplace_back().stage = "stage";
  checked.spec.schedule.after = {"evaluate"};
  return checked;
}

void reads(Declaration& d) {
  d.reads_label(field::categories.name);
}

TEST(LabelsRead, AreNamedOnceWhereAStageSaysSo) {
  CheckedPipeline masked = pipeline(reads);
  EXPECT_THAT(labels_read(masked), ElementsAre(LabelRead{"evaluate", "stage", "categories"}));
  EXPECT_EQ(labels_text(labels_read(masked)), "evaluate reads labels: categories in stage\n");
  masked.spec.schedule.before = {"evaluate"};  // a flow that runs twice
  EXPECT_THAT(labels_read(masked), SizeIs(1));
  masked.spec.schedule = {};
  EXPECT_THAT(labels_read(masked), IsEmpty());
}

TEST(LabelsRead, OfAModelThatNeedsThemNotOfALossNorInTrainingNorWhereTheyAreOptional) {
  const auto count = [](const Declare& declare) { return labels_read(pipeline(declare)).size(); };
  EXPECT_EQ(count([](Declaration& d) {
              d.needs(field::categories);
              provides(d, "embedding");
            }),
            1U);
  EXPECT_EQ(count([](Declaration& d) {
              d.needs(field::categories);
              provides(d, "loss");
            }),
            0U);
  EXPECT_EQ(count([](Declaration& d) {
              reads(d);
              d.trains();
            }),
            0U);
  EXPECT_EQ(count([](Declaration& d) {
              d.accepts(field::categories);
              provides(d, "embedding");
            }),
            0U);
}

}  // namespace seam::host::labels_read_test
