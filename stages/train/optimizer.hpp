/// Base class of all optimizers; derived classes define how a weight is updated.
///
///     loss ──► backward ──► finite? ──► mean of `accumulate` batches ──► clip ──► update()
///                              └─► no: an error, and the batch leaves nothing behind
#pragma once

#include <seam/tensor.hpp>

#include "stages/train/schedule.hpp"

namespace seam::stages {

/// One step of one weight.
struct UpdateSettings {
  double rate = 0;
  double weight_decay = 0;
  std::int64_t step = 1;  ///< of this weight, from 1
};

/// Trains the stages upstream in the flow that runs. State is kept for the stages of all flows with
/// this optimizer: a weight has the same moments in each, and a flow without the weight does not
/// change it.
///
/// An accumulated gradient belongs to the flow: at the flow's end a step is taken with what has
/// been accumulated, so that every accepted batch has had its effect when a checkpoint is written.
class Optimizer : public Compute<Sink> {
 public:
  void open(Context& context) override;
  void begin(Context& context) final;
  void process(const Packet& packet, Context& context) final;
  void end(Context& context) final;
  /// Ready if no gradient is being accumulated.
  Pause pause(Context& context) final;
  void save(Archive& archive) const final;
  void load(const Archive& archive) final;

 protected:
  /// The default of the learning rate.
  Optimizer(Schedule schedule, double rate) {
    schedule_.form = schedule;
    schedule_.rate = rate;
  }

  /// The parameters and ports of every optimizer; call it in declare().
  void declare_optimizer(Declaration& d);
  [[nodiscard]] bool decays() const { return weight_decay_ > 0; }

  /// Names of the tensors that are kept for each weight, of its shape and zero before its first
  /// step; called after open().
  [[nodiscard]] virtual std::vector<std::string> moments() const = 0;
  /// Changes the weight and its moments, which come in the order of moments().
  virtual void update(const Tensor& weight, const Tensor& gradient, std::span<const Tensor> moments,
                      const UpdateSettings& settings) const = 0;

 private:
  /// A weight and its state.
  struct Trained {
    NamedWeight weight;  // named as in checkpoints
    bool decays = true;
    std::vector<Tensor> moments;
    std::int64_t steps = 0;    // that changed it
    Tensor gradient;           // for the next step; undefined if no loss reached it
    std::int64_t version = 0;  // of the tensor when this optimizer first saw it
  };

  /// The indices in weights_ of a stage's weights; new ones are added.
  std::vector<std::size_t> find_weights(Trainable& stage);
  /// Throws seam::Error for a pattern of no_decay that matches no weight.
  void check_no_decay() const;
  /// The gradients of this batch's loss. Throws seam::Error if there are none, or they cannot be
  /// used.
  [[nodiscard]] std::vector<Tensor> gradients_of(const Tensor& loss) const;
  /// Throws seam::Error if the gradients of the batch's loss must not be used.
  void refuse_useless(const Packet& packet, const std::vector<Tensor>& gradients) const;
  /// Throws seam::Error for the first entry of a checkpoint that is not in `taken`, unless its
  /// weight is frozen now.
  void check_left(const Archive& archive, const std::set<std::string, std::less<>>& taken) const;
  void take_step(Context& context);
  void forget_gradients();
  /// Warns once of weights that nothing has trained, when a flow has run twice: another training
  /// flow may reach them.
  void warn_of_unreached(const Context& context);

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
  std::set<std::string, std::less<>> flows_;  // that have ended
  bool warned_ = false;
};

}  // namespace seam::stages
