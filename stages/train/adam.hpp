/// Stage `train.adam`: changes the weights of every trainable stage upstream.
#pragma once

#include <seam/tensor.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace seam::stages {

/// How the learning rate changes.
enum class LearningRateSchedule : std::uint8_t {
  constant,
  exponential,   ///< rate * decay^epoch: the released code, decay 0.995
  inverse_time,  ///< rate / (1 + decay * step): what "decay rate 5e-4" means in Keras
};

/// What `decay` is where the file does not say: 0.995 and 5e-4; 0 for the constant rate.
[[nodiscard]] double usual_decay(LearningRateSchedule schedule);

/// The learning rate in `epoch` (from 0) at `step` (from 0, over all epochs).
[[nodiscard]] double learning_rate(LearningRateSchedule schedule, double rate, double decay,
                                   std::int64_t epoch, std::int64_t step);

struct AdamSettings {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0;  ///< L2 penalty added to the gradient
};

/// Step number `step` (from 1) of Adam, algorithm 1 of Kingma and Ba, ICLR 2015, on one weight. The
/// update is ours because LibTorch's optimizer files its state differently from version to version,
/// and a checkpoint must outlive them. `mean` and `square` are its moments, like the weight in
/// shape.
void adam_step(const Tensor& weight, const Tensor& gradient, const Tensor& mean,
               const Tensor& square, std::int64_t step, const AdamSettings& settings);

/// Root of the sum of squares over all gradients, in double and in a fixed order.
[[nodiscard]] double gradient_norm(const std::vector<NamedWeight>& weights);

/// Trains the stages upstream in the flow that runs. State is kept for those of all flows with this
/// stage: a weight has the same moments in each, and a flow without it leaves it as it is.
class Adam final : public Compute<Sink> {
 public:
  static constexpr std::string_view name = "train.adam";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;

 private:
  /// A weight and what Adam knows of it.
  struct Trained {
    NamedWeight weight;
    Tensor mean;
    Tensor square;
    std::int64_t steps = 0;  ///< that changed it
  };

  [[nodiscard]] double decay() const;
  void check_schedule(const Context& context) const;
  /// The places in weights_ of a stage's weights; those that are new are added.
  std::vector<std::size_t> find_weights(Trainable& stage);
  void find_all_weights();
  /// Throws seam::Error where the loss cannot be differentiated.
  static void check_loss(const Tensor& loss, std::int64_t step);

  AdamSettings settings_;
  LearningRateSchedule schedule_ = LearningRateSchedule::exponential;
  std::optional<double> decay_;
  double clip_norm_ = 0;
  Refs<Trainable> trainables_;  // of the flow that runs; before open(), of all flows

  std::vector<Trainable*> stages_;    // of all flows; their stages outlive the run
  std::vector<Trained> weights_;      // theirs
  std::vector<std::size_t> in_flow_;  // which of weights_ the flow that runs trains
  std::vector<NamedWeight> of_flow_;  // the same
  std::int64_t step_ = 0;
};

}  // namespace seam::stages
