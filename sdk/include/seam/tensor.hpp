// SPDX-License-Identifier: Apache-2.0
/// Tensors in packets, stages on the compute thread, and trainable weights. Opt-in: link
/// Seam::tensor, which brings LibTorch 1.13 or newer.
///
///     class Model final : public seam::Compute<seam::Transform>, public seam::Trainable { ... };
///
/// Only this header may distinguish versions of LibTorch.
#pragma once

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/SequenceNumber.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/version.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "seam/backward.hpp"
#include "seam/contract.hpp"
#include "seam/shape_text.hpp"
#include "seam/stage.hpp"

namespace seam {

using Tensor = torch::Tensor;

/// "f32", "i64", ...: element types as spelled in contracts and archives.
std::string element_name(torch::ScalarType type);

/// The inverse of element_name() for real types; nullopt for other names.
std::optional<torch::ScalarType> scalar_type_of(std::string_view element);

template <>
struct FieldTraits<Tensor> {
  static std::size_t bytes(const Tensor& value) {
    return sizeof(Tensor) + (value.defined() ? value.nbytes() : 0);
  }
  static std::string violation(const Tensor& value, std::string_view contract);
  static std::int64_t rows(const Tensor& value) {
    return value.defined() && value.dim() > 0 ? value.size(0) : -1;
  }
  static Tensor slice(const Tensor& value, std::int64_t first, std::int64_t rows) {
    return value.narrow(0, first, rows);
  }
  static std::uint64_t version(const Tensor& value) {
    if (!value.defined() || value.is_inference()) return 0;  // not counted
    return static_cast<std::uint64_t>(value._version());
  }
  static bool equal(const Tensor& a, const Tensor& b);
  /// One row per value; all must have the same sizes.
  static Tensor gather(std::span<const Tensor* const> values);
};

namespace field {

/// RGB, from 0 to 1.
inline constexpr Field<Tensor> images{"images", "f32[N,3,H,W]"};
/// The features that a convolutional network finds in each image.
inline constexpr Field<Tensor> feature_map{"feature_map", "f32[N,C,h,w]"};
/// The K class capsules (D elements each) of N images as used for comparison: mostly of unit
/// length, unmasked.
inline constexpr Field<Tensor> capsules{"capsules", "f32[N,K,D]"};
/// The lengths of the class capsules before normalisation.
inline constexpr Field<Tensor> class_lengths{field_name::class_lengths, "f32[N,K]"};
/// Scores of each image for K classes, before the softmax.
inline constexpr Field<Tensor> logits{field_name::logits, "f32[N,K]"};
/// The category with the largest class length.
inline constexpr Field<Tensor> predicted_category{field_name::predicted_category, "i64[N]"};
/// The vectors that retrieval compares.
inline constexpr Field<Tensor> embedding{"embedding", "f32[N,E]"};
/// What training minimises, for the whole batch.
inline constexpr Field<Tensor> loss{field_name::loss, "f32[]"};

}  // namespace field

/// The device of the run.
inline torch::Device device_of(const Context& context) {
  return torch::Device(context.device());
}

/// The field's tensor on the run's device. A tensor on another device is copied, and the copy
/// replaces it in the packet, so that each batch is moved only once.
inline Tensor on_device(Packet& packet, const Field<Tensor>& field, const Context& context) {
  const Tensor& tensor = packet.get(field);
  const torch::Device device = device_of(context);
  if (!tensor.defined() || tensor.device() == device) return tensor;
  Tensor moved = tensor.to(device);  // synchronous, so the source may be reused
  packet.set(field, moved);
  return moved;
}

/// Converts a tensor of any device, type and layout for loops on the CPU: contiguous, of type
/// `type`, without gradient. Returns the tensor itself if it already is.
inline Tensor on_host(const Tensor& tensor, torch::ScalarType type = torch::kFloat32) {
  return tensor.detach().to(torch::kCPU, type).contiguous();
}

/// The numbers in tensors of one element each. Those on a device are fetched together, because each
/// fetch waits for the device.
std::vector<double> numbers_in(const std::vector<Tensor>& tensors);

namespace detail {

#if TORCH_VERSION_MAJOR >= 2
namespace warnings = c10::WarningUtils;
#else
namespace warnings = c10::Warning;
#endif

/// During its lifetime, LibTorch's warnings about nondeterministic operations are reported by the
/// stage, once per operation; other warnings are passed on.
class DeterminismWatch final : public c10::WarningHandler {
 public:
  /// `reported` must outlive it.
  DeterminismWatch(const Context& context, std::set<std::string>& reported)
      : context_(context),
        reported_(reported),
        before_(warnings::get_warning_handler()),
        guard_(this) {}

#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning& warning) override {
    if (!takes(warning.msg())) before_->process(warning);
  }
#else
  void process(const c10::SourceLocation& place, const std::string& text,
               const bool verbatim) override {
    if (!takes(text)) before_->process(place, text, verbatim);
  }
#endif

 private:
  bool takes(const std::string& text);

  Context context_;
  std::set<std::string>& reported_;
  c10::WarningHandler* before_;
  warnings::WarningHandlerGuard guard_;
};

/// During its lifetime, notifies this thread's BackwardListener of the nodes of LibTorch's graph
/// that run on the thread, and at its end of the nodes that the stage's call created. GPU nodes run
/// on a different thread.
class BackwardWatch {
 public:
  explicit BackwardWatch(std::string_view stage)
      : stage_(stage),
        first_(at::sequence_number::peek()),
        callback_(at::addThreadLocalCallback(at::RecordFunctionCallback(&entered, &left)
                                                 .scopes({at::RecordScope::BACKWARD_FUNCTION}))) {}
  ~BackwardWatch() {
    at::removeCallback(callback_);
    if (BackwardListener* const listener = BackwardScope::listener()) {
      listener->made(stage_, first_, at::sequence_number::peek());
    }
  }
  BackwardWatch(const BackwardWatch&) = delete;
  BackwardWatch& operator=(const BackwardWatch&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> entered(const at::RecordFunction& node) {
    if (BackwardListener* const listener = BackwardScope::listener()) {
      listener->entered(node.seqNr() < 0 ? BackwardListener::numberless
                                         : static_cast<std::uint64_t>(node.seqNr()));
    }
    return nullptr;
  }
  static void left(const at::RecordFunction& /*node*/, at::ObserverContext* /*context*/) {
    if (BackwardListener* const listener = BackwardScope::listener()) listener->left();
  }

  std::string_view stage_;
  std::uint64_t first_;
  at::CallbackHandle callback_;
};

/// MKL's function; null if LibTorch uses a different BLAS. Takes precedence over
/// at::set_num_threads().
extern "C" [[gnu::weak]] int MKL_Set_Num_Threads_Local(int threads);  // NOLINT(*-naming)

/// Whether MKL_CBWR=AUTO,STRICT, which the host sets, makes MKL's matrix products independent of
/// the number of threads. It does not on AMD processors.
inline bool mkl_obeys_cbwr() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return true;
#endif
}

/// Whether this process's LibTorch uses only deterministic operations. Written only on a change,
/// because other threads read it when they create tensors.
inline void set_deterministic(const torch::Device& device, bool wanted) {
  at::Context& libtorch = at::globalContext();
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
  // Would fill each new tensor with NaN, a debugging aid that slows down every torch::empty().
  if (libtorch.deterministicFillUninitializedMemory()) {
    libtorch.setDeterministicFillUninitializedMemory(false);
  }
#endif
  if (libtorch.deterministicAlgorithms() != wanted) {
    libtorch.setDeterministicAlgorithms(wanted, true);
  }
  if (MKL_Set_Num_Threads_Local != nullptr && !mkl_obeys_cbwr()) {
    MKL_Set_Num_Threads_Local(wanted ? 1 : 0);  // for this thread; 0: the default
  }
  if (device.is_cpu() || !wanted) return;
  // Disables TF32, which convolutions use by default and which keeps only 10 of float32's 23
  // mantissa bits.
  if (libtorch.allowTF32CuBLAS()) libtorch.setAllowTF32CuBLAS(false);
  if (libtorch.allowTF32CuDNN()) libtorch.setAllowTF32CuDNN(false);
}

/// Prepares the compute thread for a run: threads, gradient mode, determinism, device.
void enter_compute_thread(const Context& context);
/// The same before a call of a stage, if an earlier one has changed it. What it returns lives
/// during the call. `reported`: operations without a deterministic implementation.
[[nodiscard]] std::shared_ptr<void> around_compute(const Context& context,
                                                   std::set<std::string>& reported);

}  // namespace detail

/// A stage kind that runs on the compute thread, with gradients recorded in training flows only.
/// LibTorch keeps the gradient mode, the current device and OpenMP teams per thread, so a single
/// thread runs all of these stages.
template <class Kind>
class Compute : public Kind {
 public:
  [[nodiscard]] bool on_compute_thread() const final { return true; }
  void enter_thread(const Context& context) const final { detail::enter_compute_thread(context); }
  [[nodiscard]] std::shared_ptr<void> around_call(const Context& context) const final {
    return detail::around_compute(context, reported_);
  }

 private:
  mutable std::set<std::string> reported_;  // operations; used on the compute thread
};

/// During its lifetime, operations that benefit from it compute in bfloat16 on the device of the
/// run, if the run's precision is bfloat16; all others compute in float32. Weights and stored
/// values stay float32. Each scope casts the weights again, so that none are older than the batch:
///
///     const Autocast precision(context);
///     packet.set(field::embedding, net->forward(images).to(torch::kFloat32));
class Autocast {
 public:
  explicit Autocast(const Context& context)
      : Autocast(device_of(context).type(), context.precision()) {}
  Autocast(torch::DeviceType device, Precision precision)
      : device_(device), enabled_before_(enabled(device)), type_before_(type(device)) {
    set(precision == Precision::bfloat16, torch::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    set(enabled_before_, type_before_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  [[nodiscard]] static bool enabled(torch::DeviceType device) {
    return at::autocast::is_autocast_enabled(device);
  }
  [[nodiscard]] static torch::ScalarType type(torch::DeviceType device) {
    return at::autocast::get_autocast_dtype(device);
  }
  void set(bool enabled, torch::ScalarType type) const {
    at::autocast::set_autocast_enabled(device_, enabled);
    at::autocast::set_autocast_dtype(device_, type);
  }
#else
  [[nodiscard]] static bool enabled(torch::DeviceType device) {
    return device == torch::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
  }
  [[nodiscard]] static torch::ScalarType type(torch::DeviceType device) {
    return device == torch::kCPU ? at::autocast::get_autocast_cpu_dtype()
                                 : at::autocast::get_autocast_gpu_dtype();
  }
  void set(bool enabled, torch::ScalarType type) const {
    if (device_ == torch::kCPU) {
      at::autocast::set_cpu_enabled(enabled);
      at::autocast::set_autocast_cpu_dtype(type);
    } else {
      at::autocast::set_enabled(enabled);
      at::autocast::set_autocast_gpu_dtype(type);
    }
  }
#endif

  torch::DeviceType device_;
  bool enabled_before_;
  torch::ScalarType type_before_;
};

/// A tensor that an optimizer changes, with its name in checkpoints.
struct NamedWeight {
  std::string name;
  Tensor tensor;
  double rate_scale = 1;  ///< factor on the optimizer's learning rate
};

/// Provided by every stage with weights; a downstream optimizer finds all of them.
class Trainable {
 public:
  virtual ~Trainable() = default;
  /// The tensors to train, without frozen ones; the same tensors from open() to close().
  virtual std::vector<NamedWeight> weights() = 0;
  /// The optimizer has accepted the last batch: it makes a step with it, or keeps its gradient for
  /// one. The weights are still those that the batch was computed with. A stage that changes other
  /// state while it processes a batch, such as running statistics, must undo the change if this is
  /// not called: the batch was skipped and must leave no trace.
  virtual void batch_accepted() {}
};

/// Saves a tensor on any device with any layout.
void put_tensor(Archive& archive, const std::string& name, const Tensor& tensor);

/// Copies a saved tensor into `target`, which keeps its device, layout and identity. Throws
/// seam::Error naming the entry if type or shape differ, or if `target` is undefined.
void get_tensor(const Archive& archive, const std::string& name, Tensor target);

/// A saved tensor with the shape that it was saved with, on the CPU, for state whose shape only the
/// checkpoint knows. Throws seam::Error naming the entry if its type is not `type`.
Tensor saved_tensor(const Archive& archive, const std::string& name,
                    torch::ScalarType type = torch::kFloat32);

}  // namespace seam
