#include "stages/nn/fixed_parts.hpp"

#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include "stages/cpu/grain.hpp"

#ifdef _OPENMP
#include <omp.h>
#else  // as clang-tidy reads this, which has no omp.h
extern "C" {
void omp_set_num_threads(int count) noexcept;
}
#endif

namespace seam::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// While it exists, this thread plans its work for a single thread. oneDNN does not check whether
/// it is called by one of several threads, and would wait for others.
class OneThread {
 public:
  OneThread() : before_(known_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread& operator=(OneThread&&) = delete;  // not copyable

 private:
  /// LibTorch sets a thread's number when the thread first asks for it, which would undo the
  /// setting here. So it is asked before, in LibTorch and, if inline functions are not shared,
  /// here.
  static int known_threads() {
    at::internal::lazy_init_num_threads();
    return at::get_num_threads();
  }

  int before_;
};

/// A part of a batch with its own graph, from x's rows and the weight, cut off from the graph
/// outside, to the result. Instead of the result, the destination of its gradient is kept.
struct Part {
  variable_list inputs;
  torch::autograd::Edge result;

  [[nodiscard]] variable_list gradients(const Tensor& of_result) const {
    torch::autograd::edge_list ends;
    for (const Tensor& input : inputs) ends.push_back(torch::autograd::impl::gradient_edge(input));
    return torch::autograd::Engine::get_default_engine().execute(
        {result}, {of_result}, /*keep_graph=*/false, /*create_graph=*/false,
        /*accumulate_grad=*/false, ends);
  }
};

/// The state of a backward pass besides tensors.
struct KeptParts : torch::CustomClassHolder {
  KeptParts(RowsFunction function, Between what) : f(std::move(function)), between(what) {}
  RowsFunction f;
  Between between;
  std::vector<Part> parts{most_parts};  // empty ones where `between` is recomputed
};

/// A Function does not accept undefined tensors: a weight without elements means no weight.
Tensor weight_of(const Tensor& weight) {
  return weight.numel() > 0 ? weight : Tensor();
}

/// f of some rows, and the resulting part.
std::pair<Tensor, Part> with_graph(const Tensor& rows, const Tensor& weight,
                                   const RowsFunction& f) {
  const at::AutoGradMode with_gradients(true);
  Part part{{rows.detach().requires_grad_(true)}, {}};
  if (weight.defined()) part.inputs.push_back(weight.detach().requires_grad_(true));
  const Tensor result = f(part.inputs[0], weight.defined() ? part.inputs[1] : Tensor());
  part.result = torch::autograd::impl::gradient_edge(result);
  return {result.detach(), std::move(part)};
}

struct PartsFunction : torch::autograd::Function<PartsFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& all_weights,
                        const c10::intrusive_ptr<KeptParts>& kept) {
    context->save_for_backward({x, all_weights});
    context->saved_data["kept"] = c10::IValue::make_capsule(kept);
    const Tensor weight = weight_of(all_weights);
    Joined result(x.size(0));
    in_parts(x.size(0), most_parts, [&](std::int64_t part, std::int64_t first, std::int64_t rows) {
      const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
      const Tensor some = x.narrow(0, first, rows);
      if (kept->between == Between::recomputed) {
        result.put(first, kept->f(some, weight));
      } else {
        Tensor made;
        std::tie(made, kept->parts[part]) = with_graph(some, weight, kept->f);
        // A whole batch of one part would share memory with tensors that its graph may have kept.
        result.put(first, rows == x.size(0) ? made.clone() : made);
      }
    });
    return result.whole();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {  // what create_graph sets
      throw Error("this operation has no gradient of its gradient", Fault::internal);
    }
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor weight = weight_of(saved[1]);
    const auto kept =
        c10::static_intrusive_pointer_cast<KeptParts>(context->saved_data["kept"].toCapsule());
    const Tensor of_result = gradients[0].contiguous(gradients[0].suggest_memory_format());
    Joined of_x(x.size(0));
    std::vector<Tensor> of_weight(most_parts);
    const std::int64_t parts = in_parts(
        x.size(0), most_parts, [&](std::int64_t number, std::int64_t first, std::int64_t rows) {
          const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
          // A pass consumes a graph. A second pass, if the outer graph is retained, makes a new
          // one.
          Part part = std::exchange(kept->parts[number], {});
          if (part.inputs.empty()) {
            part = with_graph(x.narrow(0, first, rows), weight, kept->f).second;
          }
          const variable_list found = part.gradients(of_result.narrow(0, first, rows));
          of_x.put(first, found[0]);
          if (weight.defined()) of_weight[number] = found[1];
        });
    of_weight.resize(parts);
    return {of_x.whole(), weight.defined() ? sum_in_order(of_weight) : Tensor(), Tensor()};
  }
};

}  // namespace

std::int64_t parts_for(std::int64_t elements) {
  return std::clamp<std::int64_t>(elements / stages::grain(262144), 1, most_parts);
}

std::int64_t in_parts(std::int64_t rows, std::int64_t most,
                      const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& part) {
  const std::int64_t size = (rows + most - 1) / most;
  const std::int64_t parts = (rows + size - 1) / size;
  // At least two, so that LibTorch starts its threads: functions that they call then use no others.
  at::parallel_for(0, std::max<std::int64_t>(2, parts), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     const torch::NoGradGuard no_gradient;
                     const OneThread alone;
                     for (std::int64_t at = begin; at < std::min(end, parts); ++at) {
                       part(at, at * size, std::min(size, rows - at * size));
                     }
                   });
  return parts;
}

void Joined::put(std::int64_t first, const Tensor& part) {
  if (part.size(0) == rows_) {
    whole_ = part;
    return;
  }
  std::call_once(made_, [&] {
    std::vector<std::int64_t> sizes = part.sizes().vec();
    sizes[0] = rows_;
    whole_ = at::empty(sizes, part.options(), part.suggest_memory_format());
  });
  whole_.narrow(0, first, part.size(0)).copy_(part);
}

Tensor sum_in_order(const std::vector<Tensor>& parts) {
  Tensor sum = parts.at(0).clone();
  for (std::size_t at = 1; at < parts.size(); ++at) sum.add_(parts[at]);
  return sum;
}

Tensor by_parts(const Tensor& x, const Tensor& weight, const RowsFunction& f, Between between) {
  if (!x.device().is_cpu() || x.numel() == 0) {
    const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
    return f(x, weight);
  }
  const Tensor all_weights = weight.defined() ? weight : at::empty({0}, x.options());
  const bool trains =
      at::GradMode::is_enabled() && (x.requires_grad() || all_weights.requires_grad());
  return PartsFunction::apply(
      x, all_weights, c10::make_intrusive<KeptParts>(f, trains ? between : Between::recomputed));
}

Tensor by_parts(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  return by_parts(x, {}, [f](const Tensor& rows, const Tensor& /*none*/) { return f(rows); });
}

}  // namespace seam::nn
