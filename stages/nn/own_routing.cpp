#include "stages/nn/own_routing.hpp"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t tile_inputs = 32;

/// Calls `work(first, count)` for tiles of inputs, in fixed parts, each on one thread.
template <class Work>
void by_tiles(std::int64_t inputs, const Work& work) {
  in_parts(inputs, most_parts, [&](std::int64_t /*part*/, std::int64_t first, std::int64_t rows) {
    const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
    for (std::int64_t at = first; at < first + rows; at += tile_inputs) {
      work(at, std::min(tile_inputs, first + rows - at));
    }
  });
}

/// Calls `work(image)` for all images, in fixed parts, each on one thread.
template <class Work>
void for_each_image(std::int64_t images, const Work& work) {
  in_parts(images, most_parts, [&](std::int64_t /*part*/, std::int64_t first, std::int64_t rows) {
    const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
    for (std::int64_t image = first; image < first + rows; ++image) work(image);
  });
}

/// û [B,K,N,O].
Tensor predictions_of(const Tensor& u, const Tensor& weight, std::int64_t classes) {
  const std::int64_t size = weight.size(2) / classes;
  Tensor predictions = torch::empty({u.size(0), classes, u.size(1), size}, u.options());
  by_tiles(u.size(1), [&](std::int64_t first, std::int64_t count) {
    const Tensor tile =
        u.narrow(1, first, count).transpose(0, 1).bmm(weight.narrow(0, first, count));
    predictions.narrow(2, first, count)
        .copy_(tile.view({count, u.size(0), classes, size}).permute({1, 2, 0, 3}));
  });
  return predictions;
}

/// The results of an iteration for one image.
struct Iteration {
  Tensor couplings;  // [K,1,N]
  Tensor s;          // [K,1,O]
  Tensor v;          // [K,1,O]
};

/// All iterations for one image's predictions [K,N,O].
std::vector<Iteration> iterations_of(const Tensor& predictions, const RoutingOptions& options) {
  Tensor logits = torch::zeros({predictions.size(0), predictions.size(1)}, predictions.options());
  const std::int64_t axis = options.softmax == RoutingSoftmax::classes ? 0 : 1;
  std::vector<Iteration> all;
  for (std::int64_t t = 0; t < options.iterations; ++t) {
    Iteration it;
    it.couplings = torch::softmax(logits, axis).unsqueeze(1);
    it.s = it.couplings.bmm(predictions);
    it.v = squash_reference(it.s, options.squash, options.epsilon);
    all.push_back(it);
    if (t + 1 == options.iterations) break;
    const Tensor agreement = predictions.bmm(it.v.transpose(1, 2)).squeeze(2);
    logits = options.logits == Logits::replace ? agreement : logits + agreement;
  }
  return all;
}

Tensor squash_gradient(const Tensor& s, const Tensor& v_gradient, const RoutingOptions& options) {
  const at::AutoGradMode with_gradients(true);
  const Tensor input = s.detach().requires_grad_(true);
  return torch::autograd::grad({squash_reference(input, options.squash, options.epsilon)}, {input},
                               {v_gradient})[0];
}

/// Replaces one image's predictions [K,N,O] by their gradient.
void replace_by_gradient(const Tensor& predictions, const Tensor& v_gradient,
                         const RoutingOptions& options) {
  const std::vector<Iteration> all = iterations_of(predictions, options);
  const std::int64_t axis = options.softmax == RoutingSoftmax::classes ? 0 : 2;
  std::vector<Tensor> columns;  // [K,N,1]
  std::vector<Tensor> rows;     // [K,1,O]
  Tensor of_v = v_gradient.unsqueeze(1);
  Tensor of_logits;  // [K,1,N], of the logits from which the next iteration started
  for (std::size_t t = all.size(); t-- > 0;) {
    const Iteration& it = all[t];
    const bool last = t + 1 == all.size();
    if (!last) {
      of_v = of_logits.bmm(predictions);
      columns.push_back(of_logits.transpose(1, 2));
      rows.push_back(it.v);
    }
    const Tensor of_s = squash_gradient(it.s, of_v, options);
    columns.push_back(it.couplings.transpose(1, 2));
    rows.push_back(of_s);
    // The first logits are zeros, whatever the predictions.
    if (t == 0) break;
    const Tensor of_couplings = of_s.bmm(predictions.transpose(1, 2));
    Tensor here = it.couplings * (of_couplings - (it.couplings * of_couplings).sum(axis, true));
    if (!last && options.logits == Logits::accumulate) here = here + of_logits;
    of_logits = here;
  }
  Tensor place = predictions;
  torch::bmm_out(place, torch::cat(columns, 2), torch::cat(rows, 1));
}

struct OwnRouting : torch::autograd::Function<OwnRouting> {
  static Tensor forward(AutogradContext* context, const Tensor& u, const Tensor& weight,
                        std::int64_t classes, const RoutingOptions& options) {
    context->save_for_backward({u, weight});
    auto& saved = context->saved_data;
    saved["classes"] = classes;
    saved["iterations"] = options.iterations;
    saved["logits"] = static_cast<std::int64_t>(options.logits);
    saved["softmax"] = static_cast<std::int64_t>(options.softmax);
    saved["squash"] = static_cast<std::int64_t>(options.squash);
    saved["epsilon"] = options.epsilon;
    const Tensor predictions = predictions_of(u, weight, classes);
    Tensor v = torch::empty({u.size(0), classes, weight.size(2) / classes}, predictions.options());
    for_each_image(u.size(0), [&](std::int64_t image) {
      v.select(0, image).copy_(iterations_of(predictions[image], options).back().v.squeeze(1));
    });
    return v;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list inputs = context->get_saved_variables();
    const Tensor& u = inputs[0];
    const Tensor& weight = inputs[1];
    auto& saved = context->saved_data;
    const std::int64_t classes = saved["classes"].toInt();
    RoutingOptions options;
    options.iterations = saved["iterations"].toInt();
    options.logits = static_cast<Logits>(saved["logits"].toInt());
    options.softmax = static_cast<RoutingSoftmax>(saved["softmax"].toInt());
    options.squash = static_cast<SquashForm>(saved["squash"].toInt());
    options.epsilon = saved["epsilon"].toDouble();
    const Tensor predictions = predictions_of(u, weight, classes);
    const Tensor of_v = gradients[0].contiguous();
    for_each_image(u.size(0), [&](std::int64_t image) {
      replace_by_gradient(predictions[image], of_v[image], options);
    });
    const Tensor of_u = torch::empty_like(u, torch::MemoryFormat::Contiguous);
    const Tensor of_weight = torch::empty_like(weight, torch::MemoryFormat::Contiguous);
    by_tiles(u.size(1), [&](std::int64_t first, std::int64_t count) {
      const Tensor tile = predictions.narrow(2, first, count)
                              .permute({2, 0, 1, 3})
                              .reshape({count, u.size(0), weight.size(2)});
      of_weight.narrow(0, first, count)
          .copy_(u.narrow(1, first, count).permute({1, 2, 0}).bmm(tile));
      of_u.narrow(1, first, count)
          .copy_(tile.bmm(weight.narrow(0, first, count).transpose(1, 2)).transpose(0, 1));
    });
    return {of_u, of_weight, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor route_own(const Tensor& u, const Tensor& weight, std::int64_t classes,
                 const RoutingOptions& options) {
  return OwnRouting::apply(u, weight, classes, options);
}

}  // namespace seam::nn
