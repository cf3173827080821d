#include "seam/tensor.hpp"

#include <torch/utils.h>

#include <algorithm>

namespace seam {

namespace {

using Element = std::pair<torch::ScalarType, std::string_view>;
// The last two have LibTorch's names.
constexpr std::array elements{Element{torch::kFloat32, "f32"}, Element{torch::kFloat64, "f64"},
                              Element{torch::kFloat16, "f16"}, Element{torch::kBFloat16, "bf16"},
                              Element{torch::kInt64, "i64"},   Element{torch::kInt32, "i32"},
                              Element{torch::kUInt8, "u8"},    Element{torch::kBool, "bool"},
                              Element{torch::kInt16, "Short"}, Element{torch::kInt8, "Char"}};

}  // namespace

std::string element_name(torch::ScalarType type) {
  const auto* const found = std::ranges::find(elements, type, &Element::first);
  return found == elements.end() ? torch::toString(type) : std::string(found->second);
}

std::optional<torch::ScalarType> scalar_type_of(std::string_view element) {
  const auto* const found = std::ranges::find(elements, element, &Element::second);
  return found == elements.end() ? std::nullopt : std::optional(found->first);
}

std::string FieldTraits<Tensor>::violation(const Tensor& value, std::string_view contract) {
  if (!value.defined()) return "it is an undefined tensor";
  if (value.is_meta()) return "it is on the device 'meta', where tensors have no values";
  // "f32[N,E]@cuda:0": the host asks for the device as well, after LibTorch has rejected one.
  const std::size_t at = contract.find('@');
  if (at != std::string_view::npos) {
    const std::string place = value.device().str();
    if (place != contract.substr(at + 1)) return "it is on the device '" + place + "'";
  }
  return TensorContract::parse(contract.substr(0, at))
      .first_violation(element_name(value.scalar_type()), value.sizes().vec())
      .value_or(std::string());
}

bool FieldTraits<Tensor>::equal(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const Tensor plain_a = a.detach().to(torch::kCPU).contiguous();
  const Tensor plain_b = b.detach().to(torch::kCPU).contiguous();
  return plain_a.nbytes() == 0 ||
         std::memcmp(plain_a.data_ptr(), plain_b.data_ptr(), plain_a.nbytes()) == 0;
}

Tensor FieldTraits<Tensor>::gather(std::span<const Tensor* const> values) {
  std::vector<Tensor> rows;
  rows.reserve(values.size());
  for (const Tensor* value : values) {
    const Tensor& first = *values.front();
    if (!value->defined() || value->sizes() != first.sizes() ||
        value->scalar_type() != first.scalar_type() || value->device() != first.device()) {
      throw Error("tensors with different sizes, types or devices cannot be stacked");
    }
    rows.push_back(*value);
  }
  return at::stack(rows);
}

std::vector<double> numbers_in(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> elsewhere;
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_cpu()) elsewhere.push_back(tensor.detach().reshape({}).to(torch::kFloat64));
  }
  Tensor fetched;
  if (!elsewhere.empty()) fetched = at::stack(elsewhere).to(torch::kCPU);
  std::vector<double> numbers;
  std::int64_t next = 0;
  for (const Tensor& tensor : tensors) {
    numbers.push_back((tensor.is_cpu() ? tensor : fetched[next++]).item<double>());
  }
  return numbers;
}

void put_tensor(Archive& archive, const std::string& name, const Tensor& tensor) {
  const Tensor plain = tensor.detach().to(torch::kCPU).contiguous();
  Archive::Entry entry{element_name(plain.scalar_type()), plain.sizes().vec(),
                       std::vector<std::byte>(plain.nbytes())};
  if (plain.nbytes() > 0) std::memcpy(entry.bytes.data(), plain.data_ptr(), plain.nbytes());
  archive.put(name, std::move(entry));
}

void get_tensor(const Archive& archive, const std::string& name, Tensor target) {
  const Archive::Entry& entry = archive.get(name);
  if (!target.defined()) {
    throw Error("saved tensor '" + name +
                    "' cannot be copied into an undefined tensor; allocate it first, or call "
                    "saved_tensor() if only the checkpoint knows its shape",
                Fault::internal);
  }
  const std::string type = element_name(target.scalar_type());
  if (entry.type != type || entry.shape != target.sizes().vec()) {
    throw Error("saved tensor '" + name + "' is " + entry.type + shape_text(entry.shape) +
                ", but this model's is " + type + shape_text(target.sizes()) +
                "; the checkpoint belongs to a different architecture");
  }
  if (entry.bytes.size() != target.nbytes()) {
    throw Error("saved tensor '" + name + "' has " + std::to_string(entry.bytes.size()) +
                " bytes instead of the " + std::to_string(target.nbytes()) +
                "; the checkpoint is damaged");
  }
  const torch::NoGradGuard no_gradient;
  Tensor saved = torch::empty(entry.shape, target.scalar_type());
  if (saved.nbytes() > 0) std::memcpy(saved.data_ptr(), entry.bytes.data(), saved.nbytes());
  target.copy_(saved);
}

Tensor saved_tensor(const Archive& archive, const std::string& name, torch::ScalarType type) {
  const Archive::Entry& entry = archive.get(name, element_name(type));
  Tensor tensor = torch::empty(entry.shape, type);
  get_tensor(archive, name, tensor);
  return tensor;
}

namespace detail {
namespace {

/// Makes the first call of MKL's vector functions from one thread. That call is not thread-safe: if
/// two threads make it at nearly the same time, the result of one may have relative errors of 1e-4,
/// as in 9 % of short runs with LibTorch 2.13 on an Intel Xeon.
void initialise_mkl() {
  static const bool done = [] {
    const torch::NoGradGuard no_gradient;
    at::sqrt(at::ones({1}));
    return true;
  }();
  static_cast<void>(done);
}

void settle(const Context& context) {
  const torch::Device device = device_of(context);
  at::GradMode::set_enabled(context.training());
  // Without this, advanced indexing sums gradients in any order, on CPUs as well.
  set_deterministic(device, context.deterministic());
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

}  // namespace

bool DeterminismWatch::takes(const std::string& text) {
  const std::size_t end = text.find(" does not have a deterministic implementation");
  if (end == std::string::npos) return false;
  const std::string operation = text.substr(0, end);
  if (!reported_.insert(operation).second) return true;
  context_.warn("operation '" + operation + "' has no deterministic implementation on " +
                context_.device() +
                ": two runs of this pipeline may differ slightly. Replace it, or set "
                "`deterministic = false` in [pipeline]");
  return true;
}

void enter_compute_thread(const Context& context) {
  at::set_num_threads(context.compute_threads());
  initialise_mkl();
  settle(context);
}

std::shared_ptr<void> around_compute(const Context& context, std::set<std::string>& reported) {
  // Only if it differs: LibTorch creates a new thread pool each time.
  if (at::get_num_threads() != context.compute_threads()) {
    at::set_num_threads(context.compute_threads());
  }
  settle(context);
  struct Around {
    std::optional<DeterminismWatch> determinism;
    std::optional<BackwardWatch> backward;
  };
  const bool listens = context.training() && BackwardScope::listener() != nullptr;
  if (!context.deterministic() && !listens) return nullptr;
  const auto around = std::make_shared<Around>();
  if (context.deterministic()) around->determinism.emplace(context, reported);
  if (listens) around->backward.emplace(context.stage());
  return around;
}

}  // namespace detail
}  // namespace seam
