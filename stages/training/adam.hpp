/// Stage `train.adam`: changes the weights of every trainable stage upstream.
#pragma once

#include <seam/tensor.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace seam::stages {

/// How the learning rate changes.
enum class LearningRateSchedule : std::uint8_t {
  constant,
  exponential,   ///< rate * decay^epoch: the released code, decay 0.995
  inverse_time,  ///< rate / (1 + decay * step): what "decay rate 5e-4" means in Keras
};

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

class Adam final : public Compute<Sink> {
 public:
  static constexpr std::string_view name = "train.adam";

  void declare(Declaration& d) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;

 private:
  void take_weights();

  /// A weight and its moments.
  struct Moments {
    Tensor mean;
    Tensor square;
  };

  AdamSettings settings_;
  LearningRateSchedule schedule_ = LearningRateSchedule::exponential;
  double decay_ = 0.995;
  double clip_norm_ = 0;
  Refs<Trainable> trainables_;

  std::vector<NamedWeight> weights_;
  std::vector<Moments> moments_;
  std::int64_t step_ = 0;
  Archive loaded_;  // kept until the first flow tells which weights there are
};

}  // namespace seam::stages
