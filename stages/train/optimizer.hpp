/// What all optimizers share; how a weight moves along its gradient is theirs.
///
///     loss ──► backward ──► finite? ──► mean of `accumulate` batches ──► clip ──► update()
///                              └─► no: an error, and the batch leaves nothing behind
#pragma once

#include <seam/tensor.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stages/train/schedule.hpp"

namespace seam::stages {

/// One step of one weight.
struct UpdateSettings {
  double rate = 0;
  double weight_decay = 0;
  std::int64_t step = 1;  ///< of this weight, from 1
};

/// Trains the stages upstream in the flow that runs. State is kept for those of all flows with this
/// stage: a weight has the same moments in each, and a flow without it leaves it as it is.
///
/// A gradient that is being accumulated belongs to the flow: at its end a step is taken with what
/// is there, so that every batch that was accepted has had its effect when a checkpoint is written.
class Optimizer : public Compute<Sink> {
 public:
  void open(Context& context) override;
  void begin(Context& context) final;
  void process(const Packet& packet, Context& context) final;
  void end(Context& context) final;
  /// Ready where no gradient is being accumulated.
  Pause pause(Context& context) final;
  void save(Archive& archive) const final;
  void load(const Archive& archive) final;

 protected:
  /// What the learning rate is where the file does not say.
  Optimizer(Schedule schedule, double rate) {
    schedule_.form = schedule;
    schedule_.rate = rate;
  }

  /// The parameters and ports of every optimizer; call it in declare().
  void declare_optimizer(Declaration& d);

  /// Names of the tensors that are kept for each weight, of its shape and zero before its first
  /// step; asked after open().
  [[nodiscard]] virtual std::vector<std::string> moments() const = 0;
  /// Changes the weight and its moments, which come in the order of moments().
  virtual void update(const Tensor& weight, const Tensor& gradient, std::span<const Tensor> moments,
                      const UpdateSettings& settings) const = 0;

 private:
  /// A weight and what is known of it.
  struct Trained {
    NamedWeight weight;  // named as in checkpoints
    bool decays = true;
    std::vector<Tensor> moments;
    std::int64_t steps = 0;  // that changed it
    Tensor gradient;         // for the next step; undefined where no loss reached it
  };

  /// The places in weights_ of a stage's weights; those that are new are added.
  std::vector<std::size_t> find_weights(Trainable& stage);
  void find_all_weights();
  /// Throws seam::Error for a pattern of no_decay that fits no weight.
  void check_no_decay() const;
  /// The gradients of this batch's loss. Throws seam::Error where it has none that is of use.
  [[nodiscard]] std::vector<Tensor> gradients_of(const Tensor& loss) const;
  /// Throws seam::Error if the gradients of the batch's loss must not be followed.
  void refuse_useless(const Packet& packet, const std::vector<Tensor>& gradients) const;
  void take_step(Context& context);
  void forget_gradients();

  ScheduleSettings schedule_;
  double weight_decay_ = 0;
  std::vector<std::string> no_decay_;
  double clip_norm_ = 0;
  std::int64_t accumulate_ = 1;
  bool measures_norm_ = false;
  Refs<Trainable> trainables_;  // of the flow that runs; before open(), of all flows

  std::vector<Trainable*> stages_;    // of all flows; their stages outlive the run
  std::vector<Trained> weights_;      // theirs
  std::vector<std::size_t> in_flow_;  // which of weights_ the flow that runs trains
  std::int64_t accumulated_ = 0;      // batches since the last step
  std::int64_t step_ = 0;
};

}  // namespace seam::stages
