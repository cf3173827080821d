/// Stage `model.sdropcapnet`: the Siamese capsule network whose face capsules are dropped with
/// probabilities that it learns.
///
///     images, (loss) ──► embedding, capsules, loss = (loss +) regulariser
///
/// The probabilities need the regulariser, so the stage provides it as the first part of the loss;
/// later losses add theirs.
#pragma once

#include "stages/model/siamese.hpp"

namespace seam::stages {

class Sdropcapnet final : public SiameseStage {
 public:
  static constexpr std::string_view name = "model.sdropcapnet";

  void declare(Declaration& d) override;
  void end(Context& context) override;
  Pause pause(Context& context) override;
  void batch_accepted() override;

 private:
  [[nodiscard]] std::optional<nn::ConcreteDropoutOptions> concrete_dropout() const override {
    return dropout_;
  }
  void forward(nn::SiameseCapsules& net, Packet& packet, Context& context) override;
  void record_accepted(const Context& context);

  nn::ConcreteDropoutOptions dropout_;
  double regulariser_ = 1e-3;
  double weight_regulariser_ = 0.1;
  std::vector<std::pair<std::string, Tensor>> processed_;  // measured in the last training batch
  std::vector<std::pair<std::string, double>> accepted_;   // the same, once it may be recorded
};

}  // namespace seam::stages
