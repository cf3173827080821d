/// Tensors in packets, stages on the compute thread, weights that optimizers find. Opt-in: link
/// Seam::tensor, which brings LibTorch 1.13 or newer.
///
///     class Model final : public seam::Compute<seam::Transform>, public seam::Trainable { ... };
///
/// This header is the one place where versions of LibTorch may be told apart.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <torch/version.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "seam/contract.hpp"
#include "seam/stage.hpp"

namespace seam {

using Tensor = torch::Tensor;

/// "f32", "i64", ...: element types as contracts and archives spell them.
inline std::string element_name(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return "f32";
    case torch::kFloat64:
      return "f64";
    case torch::kFloat16:
      return "f16";
    case torch::kBFloat16:
      return "bf16";
    case torch::kInt64:
      return "i64";
    case torch::kInt32:
      return "i32";
    case torch::kUInt8:
      return "u8";
    case torch::kBool:
      return "bool";
    default:
      return torch::toString(type);
  }
}

template <>
struct FieldTraits<Tensor> {
  static std::size_t bytes(const Tensor& value) {
    return sizeof(Tensor) + (value.defined() ? value.nbytes() : 0);
  }
  static std::string violation(const Tensor& value, std::string_view contract) {
    if (!value.defined()) return "it is an undefined tensor";
    return TensorContract::parse(contract)
        .first_violation(element_name(value.scalar_type()), value.sizes().vec())
        .value_or(std::string());
  }
  static std::int64_t rows(const Tensor& value) {
    return value.defined() && value.dim() > 0 ? value.size(0) : -1;
  }
  static bool equal(const Tensor& a, const Tensor& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
    const Tensor plain_a = a.detach().to(torch::kCPU).contiguous();
    const Tensor plain_b = b.detach().to(torch::kCPU).contiguous();
    return plain_a.nbytes() == 0 ||
           std::memcmp(plain_a.data_ptr(), plain_b.data_ptr(), plain_a.nbytes()) == 0;
  }
};

namespace field {

/// RGB, from 0 to 1.
inline constexpr Field<Tensor> images{"images", "f32[N,3,H,W]"};
/// The features that a convolutional network finds in each image.
inline constexpr Field<Tensor> feature_map{"feature_map", "f32[N,C,H,W]"};
/// N images' K class capsules of D numbers as they are compared (of unit length, mostly), none
/// masked.
inline constexpr Field<Tensor> capsules{"capsules", "f32[N,K,D]"};
/// The lengths of the class capsules before they were normalised.
inline constexpr Field<Tensor> class_lengths{"class_lengths", "f32[N,K]"};
/// The category whose class length is the largest.
inline constexpr Field<Tensor> predicted_category{"predicted_category", "i64[N]"};
/// The vectors that retrieval compares.
inline constexpr Field<Tensor> embedding{"embedding", "f32[N,E]"};
/// What training minimises, for the whole batch.
inline constexpr Field<Tensor> loss{"loss", "f32[]"};

}  // namespace field

/// A stage kind that runs on the compute thread, with gradients recorded in training flows only.
/// LibTorch keeps gradient mode and OpenMP teams per thread, so one thread does all of it.
template <class Kind>
class Compute : public Kind {
 public:
  [[nodiscard]] bool on_compute_thread() const final { return true; }
  void enter_thread(const Context& context) const final {
    at::set_num_threads(context.compute_threads());
    at::GradMode::set_enabled(context.training());
  }
};

/// Where the run computes.
inline torch::Device device_of(const Context& context) {
  return torch::Device(context.device());
}

/// While it lives, LibTorch's autocast computes convolutions and matrix products on the device in
/// bfloat16, or, with float32, leaves all as it is.
class Autocast {
 public:
  Autocast(const torch::Device& device, Precision precision)
      : type_(device.type()), was_enabled_(enabled(type_)) {
    enable(type_, precision == Precision::bfloat16);
  }
  ~Autocast() {
    enable(type_, was_enabled_);
    at::autocast::clear_cache();  // copies of weights, which the optimizer is about to change
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  Autocast(Autocast&&) = delete;
  Autocast& operator=(Autocast&&) = delete;

 private:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  static bool enabled(torch::DeviceType type) {
    return at::autocast::is_autocast_enabled(type);
  }
  static void enable(torch::DeviceType type, bool on) {
    if (on) at::autocast::set_autocast_dtype(type, torch::kBFloat16);
    at::autocast::set_autocast_enabled(type, on);
  }
#else
  static bool enabled(torch::DeviceType type) {
    return type == torch::kCUDA ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
  }
  static void enable(torch::DeviceType type, bool on) {
    if (type == torch::kCUDA) {
      if (on) at::autocast::set_autocast_gpu_dtype(torch::kBFloat16);
      at::autocast::set_enabled(on);
    } else {
      if (on) at::autocast::set_autocast_cpu_dtype(torch::kBFloat16);
      at::autocast::set_cpu_enabled(on);
    }
  }
#endif

  torch::DeviceType type_;
  bool was_enabled_;
};

/// A tensor that an optimizer changes, under the name that checkpoints use.
struct NamedWeight {
  std::string name;
  Tensor tensor;
  double rate_scale = 1;  ///< its learning rate in those of the optimizer
};

/// Offered by every stage with weights; an optimizer downstream finds all of them by itself.
class Trainable {
 public:
  virtual ~Trainable() = default;
  /// The leaves to train, without frozen ones; the same tensors from open() to close().
  virtual std::vector<NamedWeight> weights() = 0;
  /// The optimizer has taken a step with the batch that was processed last. A stage that changes
  /// something else while it processes a batch, such as running statistics, takes that back where
  /// this does not follow: the batch was skipped and must leave nothing behind.
  virtual void batch_accepted() {}
};

/// Saves a tensor of any device and layout.
inline void put_tensor(Archive& archive, const std::string& name, const Tensor& tensor) {
  const Tensor plain = tensor.detach().to(torch::kCPU).contiguous();
  Archive::Entry entry{element_name(plain.scalar_type()), plain.sizes().vec(),
                       std::vector<std::byte>(plain.nbytes())};
  if (plain.nbytes() > 0) std::memcpy(entry.bytes.data(), plain.data_ptr(), plain.nbytes());
  archive.put(name, std::move(entry));
}

/// Copies a saved tensor into `target`, which keeps its device, layout and identity. Throws
/// seam::Error naming the entry where type or shape differ.
inline void get_tensor(const Archive& archive, const std::string& name, Tensor target) {
  const Archive::Entry& entry = archive.get(name);
  const std::string type = element_name(target.scalar_type());
  if (entry.type != type || entry.shape != target.sizes().vec()) {
    const auto shape_text = [](const std::vector<std::int64_t>& shape) {
      std::string text = "[";
      for (const std::int64_t size : shape) {
        text += (text.size() > 1 ? "," : "") + std::to_string(size);
      }
      return text + "]";
    };
    throw Error("saved tensor '" + name + "' is " + entry.type + shape_text(entry.shape) +
                ", but this model's is " + type + shape_text(target.sizes().vec()) +
                "; the checkpoint is of another architecture");
  }
  if (entry.bytes.size() != target.nbytes()) {
    throw Error("saved tensor '" + name + "' has " + std::to_string(entry.bytes.size()) +
                " bytes where its type and shape take " + std::to_string(target.nbytes()) +
                "; the checkpoint is damaged");
  }
  const torch::NoGradGuard no_gradient;
  Tensor saved = torch::empty(entry.shape, target.scalar_type());
  if (saved.nbytes() > 0) std::memcpy(saved.data_ptr(), entry.bytes.data(), saved.nbytes());
  target.copy_(saved);
}

}  // namespace seam
