// SPDX-License-Identifier: Apache-2.0
/// Networks in lanes (seam::Lanes): the rows of a batch in several passes, one after the other.
///
///     rows 0 to 127    ─► pass ─┐                                 ┌─► pass back ─► gradient ─┐
///     rows 128 to 255  ─► pass ─┤                                 ├─► pass back ─► gradient ─┴ + ┐
///     rows 256 to 383  ─► pass ─┼─► all rows ─► losses ─► back ─► ┼─► pass back ─► gradient ─┬ + ┴
///     + rows 384 to 511  ─► pass ─┘                                 └─► pass back ─► gradient ─┘
///
/// Each pass has its own batch statistics, random numbers and graph. In the graph outside, all
/// passes are a single node. With LaneMemory::recompute they leave no graph and are computed again
/// for the gradient: Gao, Zhang, Han, Callan, "Scaling deep contrastive learning batch size under
/// memory limited setup", 2021 (GradCache).
///
/// The results of a lane depend on its own rows alone, and sums on the lanes' numbers, so that
/// lanes may be computed anywhere.
#pragma once

#include <torch/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "seam/tensor.hpp"

namespace seam::detail {

using Tensors = std::vector<Tensor>;

/// Adds lists of tensors in a binary tree that depends only on how many there are:
/// ((0 + 1) + (2 + 3)) + (4 + 5). Keeps few partial sums. Undefined tensors are zeros.
class TreeSum {
 public:
  void add(Tensors terms) {
    for (std::size_t pairs = count_++; pairs % 2 == 1; pairs /= 2) terms = sum(take(), terms);
    partial_.push_back(std::move(terms));
  }
  /// At least one list must have been added.
  [[nodiscard]] Tensors total() {
    Tensors total = take();
    while (!partial_.empty()) total = sum(take(), total);
    return total;
  }

 private:
  Tensors take() {
    Tensors last = std::move(partial_.back());
    partial_.pop_back();
    return last;
  }
  static Tensors sum(Tensors a, const Tensors& b) {
    for (std::size_t at = 0; at < a.size(); ++at) {
      if (b[at].defined()) a[at] = a[at].defined() ? a[at] + b[at] : b[at];
    }
    return a;
  }

  std::size_t count_ = 0;
  std::vector<Tensors> partial_;  // each of twice as many lists as the next, or more
};

/// Some rows of a batch.
struct LaneRows {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// At most `lanes` lanes of at least two rows, which batch statistics need: as even as possible,
/// the larger ones first. Rows that share a group in which they have roles, such as a triplet, stay
/// together.
[[nodiscard]] inline std::vector<LaneRows> lanes_of(const Packet& packet, std::int64_t rows,
                                                    std::int64_t lanes) {
  const bool grouped = packet.has(field::groups) && packet.has(field::roles);
  const auto in_group_before = [&](std::int64_t row) {
    if (!grouped || row == 0 || row >= rows) return false;
    const auto at = static_cast<std::size_t>(row);
    const std::vector<std::int64_t>& groups = packet.get(field::groups);
    return groups[at] >= 0 && groups[at] == groups[at - 1] &&
           packet.get(field::roles)[at] != Role::single;
  };
  lanes = std::min(lanes, rows / 2);
  std::vector<LaneRows> result;
  std::int64_t first = 0;
  for (std::int64_t lane = 1; lane <= lanes; ++lane) {
    std::int64_t end = lane * (rows / lanes) + std::min(lane, rows % lanes);
    while (in_group_before(end)) ++end;
    if (end <= first) continue;
    result.push_back({first, end - first});
    first = end;
  }
  return result;
}

/// The declared fields that a network reads. Throws seam::Error (configuration) if a declared field
/// does not have one value per row: lanes could not be told apart in it.
[[nodiscard]] inline std::vector<std::string> fields_read_by_row(const Configured& declared,
                                                                 const std::string& stage) {
  std::vector<std::string> read;
  for (const auto* fields : {&declared.needs, &declared.accepts, &declared.provides}) {
    for (const FieldInfo& field : *fields) {
      if (!Field<Tensor>{field.name, field.contract}.by_row()) {
        throw Error("stage '" + stage + "' cannot compute in lanes, because its field '" +
                        field.name + "' (" +
                        (field.contract.empty() ? "without a contract" : field.contract) +
                        ") is not declared to have one value per row, as f32[N,E] is; remove "
                        "`lanes` from [pipeline]",
                    Fault::configuration);
      }
      if (fields != &declared.provides) read.push_back(field.name);
    }
  }
  return read;
}

/// A network as lanes see it.
struct LaneNetwork {
  /// Reads and sets fields of a packet, with LibTorch's generator seeded for that packet.
  std::function<void(Packet& rows, Context& context)> pass;
  std::vector<std::string> reads;  ///< fields, all by row
  Tensors weights;                 ///< those that are trained, each once
  Tensors buffers;
  Tensors buffers_before;  ///< their values before the batch, from which each lane starts
};

/// A lane's graph, from its fields and the weights to what it provides.
struct LaneGraph {
  Tensors inputs;                      ///< of the tensors that the graph outside computed
  torch::autograd::edge_list results;  ///< by provided field; invalid without a gradient
};

/// A batch in lanes; lives as long as the graph outside.
class LaneBatch final : public torch::CustomClassHolder {
 public:
  LaneBatch(LaneNetwork network, const Packet& packet, std::vector<LaneRows> lanes,
            const Context& context)
      : network_(std::move(network)),
        lanes_(std::move(lanes)),
        memory_(context.lanes().memory),
        context_(context) {
    whole_.set_origin(packet.origin());
    whole_.set_sequence(packet.sequence());
    for (const Packet::Slot& slot : packet.slots()) {
      const bool read = std::ranges::find(network_.reads, slot.name) != network_.reads.end();
      if (read) whole_.put(slot);
    }
    for (const Tensor* tensor : tensors()) {
      if (tensor->requires_grad()) inputs_.push_back(*tensor);
    }
  }

  /// The provided fields for all rows, cut off from the graph outside.
  struct Results {
    Tensors all;
    Tensors constant;  ///< those without a gradient
  };

  /// Computes all lanes, unless the network drops the packet. Returns the fields that it provides,
  /// whose values for all rows are the results.
  [[nodiscard]] std::vector<Packet::Slot> forward(Context& context) {
    std::vector<Packet::Slot> provided;
    std::vector<Tensors> rows;  // by field, of each lane
    std::vector<bool> constant;
    TreeSum changes;  // of buffers
    for (const LaneRows& lane : lanes_) {
      auto [slots, graph] = compute(lane, context);
      if (context.dropped()) return {};
      if (rows.empty()) {
        provided = slots;
        for (Packet::Slot& slot : provided) slot.value.reset();  // it would keep the lane's graph
        rows.resize(slots.size());
        for (const auto& result : graph.results) constant.push_back(!result.is_valid());
      }
      for (std::size_t at = 0; at < rows.size(); ++at) {
        rows[at].push_back(rows_of(slots, provided[at], lane).detach());
      }
      changes.add(changes_by(lane));
      if (memory_ == LaneMemory::keep) graphs_.push_back(std::move(graph));
    }
    move_buffers(changes.total());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      results_.all.push_back(at::cat(rows[at]));
      if (constant[at]) results_.constant.push_back(results_.all.back());
    }
    return provided;
  }

  [[nodiscard]] Results take_results() { return std::exchange(results_, {}); }

  /// Of the inputs, then of the weights, from those of the results, any of which may be undefined.
  /// Can be called once.
  [[nodiscard]] Tensors gradients(const Tensors& of_results) {
    Tensors buffers_after;
    for (const Tensor& buffer : network_.buffers) buffers_after.push_back(buffer.clone());
    std::vector<Tensors> of_inputs(inputs_.size());
    TreeSum of_weights;
    for (std::size_t at = 0; at < lanes_.size(); ++at) {
      const LaneGraph graph = memory_ == LaneMemory::keep ? std::exchange(graphs_[at], {})
                                                          : compute(lanes_[at], context_).second;
      Tensors found = gradients_in(graph, lanes_[at], of_results);
      for (std::size_t input = 0; input < inputs_.size(); ++input) {
        of_inputs[input].push_back(found[input]);
      }
      found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(inputs_.size()));
      of_weights.add(std::move(found));
    }
    set_buffers(buffers_after);
    Tensors all;
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      all.push_back(joined(of_inputs[input], inputs_[input]));
    }
    for (Tensor& of_weight : of_weights.total()) all.push_back(std::move(of_weight));
    return all;
  }

  /// Of the graph outside: tensors that it computed, then weights.
  [[nodiscard]] Tensors inputs_and_weights() const {
    Tensors all = inputs_;
    all.insert(all.end(), network_.weights.begin(), network_.weights.end());
    return all;
  }
  /// What must not change until the gradients are computed.
  [[nodiscard]] Tensors used() const {
    Tensors all = network_.weights;
    for (const Tensor* tensor : tensors()) all.push_back(*tensor);
    return all;
  }

 private:
  [[nodiscard]] std::vector<const Tensor*> tensors() const {
    std::vector<const Tensor*> tensors;
    for (const Packet::Slot& slot : whole_.slots()) {
      if (slot.type->name != type_name<Tensor>()) continue;
      const auto* const tensor = static_cast<const Tensor*>(slot.value.get());
      if (tensor->defined()) tensors.push_back(tensor);
    }
    return tensors;
  }

  /// The lane as a packet. Its sequence number, on which random numbers depend, consists of the
  /// batch's and of the first row.
  [[nodiscard]] Packet packet_of(const LaneRows& lane, Tensors& inputs) const {
    Packet packet(whole_.origin());
    packet.set_sequence(whole_.sequence() ^ (static_cast<std::uint64_t>(lane.first) << 32U));
    for (Packet::Slot slot : whole_.slots()) {
      if (slot.type->slice == nullptr) {
        throw Error("field '" + std::string(slot.name) + "' (" + readable_type(slot.type->name) +
                        ") cannot be cut into lanes, because its FieldTraits have no slice(); "
                        "remove `lanes` from [pipeline]",
                    Fault::configuration);
      }
      slot.value = slot.type->slice(slot.value.get(), lane.first, lane.count);
      if (slot.type->name == type_name<Tensor>()) {
        Tensor& rows = *static_cast<Tensor*>(slot.value.get());
        if (rows.requires_grad()) {
          rows = rows.detach().requires_grad_(true);
          inputs.push_back(rows);
        }
      }
      packet.put(std::move(slot));
    }
    return packet;
  }

  /// One pass. Returns what it provides, and its graph.
  [[nodiscard]] std::pair<std::vector<Packet::Slot>, LaneGraph> compute(const LaneRows& lane,
                                                                        Context& context) const {
    const at::AutoGradMode with_gradients(true);
    set_buffers(network_.buffers_before);
    LaneGraph graph;
    Packet packet = packet_of(lane, graph.inputs);
    const Packet before = packet;
    network_.pass(packet, context);
    std::vector<Packet::Slot> provided;
    for (const Packet::Slot& slot : packet.slots()) {
      const auto same = [&](const Packet::Slot& one) { return one.value == slot.value; };
      if (std::ranges::none_of(before.slots(), same)) provided.push_back(slot);
    }
    for (const Packet::Slot& slot : provided) {
      graph.results.push_back(torch::autograd::impl::gradient_edge(rows_of(provided, slot, lane)));
    }
    return {std::move(provided), std::move(graph)};
  }

  /// The tensor of a provided field in a lane.
  static const Tensor& rows_of(const std::vector<Packet::Slot>& slots, const Packet::Slot& field,
                               const LaneRows& lane) {
    const auto slot = std::ranges::find(slots, field.name, &Packet::Slot::name);
    const auto* const tensor = slot != slots.end() && slot->type->name == type_name<Tensor>()
                                   ? static_cast<const Tensor*>(slot->value.get())
                                   : nullptr;
    if (tensor != nullptr && FieldTraits<Tensor>::rows(*tensor) == lane.count) return *tensor;
    throw Error("the network must provide field '" + std::string(field.name) +
                    "' in every lane as a tensor with one value per row; remove `lanes` from "
                    "[pipeline]",
                Fault::configuration);
  }

  [[nodiscard]] Tensors gradients_in(const LaneGraph& graph, const LaneRows& lane,
                                     const Tensors& of_results) const {
    torch::autograd::edge_list from;
    torch::autograd::edge_list to;
    Tensors known;
    for (std::size_t at = 0; at < of_results.size(); ++at) {
      if (!of_results[at].defined() || !graph.results[at].is_valid()) continue;
      from.push_back(graph.results[at]);
      known.push_back(of_results[at].narrow(0, lane.first, lane.count));
    }
    for (const Tensors* tensors : {&graph.inputs, &network_.weights}) {
      for (const Tensor& tensor : *tensors) {
        to.push_back(torch::autograd::impl::gradient_edge(tensor));
      }
    }
    if (from.empty()) return Tensors(to.size());
    return torch::autograd::Engine::get_default_engine().execute(
        from, known, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/false, to);
  }

  /// Undefined if it is for all lanes: the losses do not reach the input.
  [[nodiscard]] Tensor joined(Tensors& of_lanes, const Tensor& input) const {
    const auto defined = [](const Tensor& one) { return one.defined(); };
    if (std::ranges::none_of(of_lanes, defined)) return {};
    for (std::size_t at = 0; at < of_lanes.size(); ++at) {
      if (of_lanes[at].defined()) continue;
      of_lanes[at] = at::zeros_like(input.narrow(0, lanes_[at].first, lanes_[at].count));
    }
    return at::cat(of_lanes);
  }

  /// The writes do not count as changes: the graphs of other lanes refer to the buffers.
  void set_buffers(const Tensors& values) const {
    const torch::NoGradGuard no_gradient;
    for (std::size_t at = 0; at < values.size(); ++at) {
      network_.buffers[at].variable_data().copy_(values[at]);
    }
  }

  /// The lane's part of the mean over rows: for floating-point buffers, its change by its share
  /// of the rows; for others, such as counts of batches, the value.
  [[nodiscard]] Tensors changes_by(const LaneRows& lane) const {
    const torch::NoGradGuard no_gradient;
    const double share = static_cast<double>(lane.count) /
                         static_cast<double>(lanes_.back().first + lanes_.back().count);
    Tensors changes;
    for (std::size_t at = 0; at < network_.buffers.size(); ++at) {
      const Tensor& buffer = network_.buffers[at];
      if (buffer.is_floating_point()) {
        changes.push_back((buffer - network_.buffers_before[at]) * share);
      } else {
        changes.push_back(lane.first == 0 ? buffer.clone() : Tensor());
      }
    }
    return changes;
  }

  void move_buffers(const Tensors& changes) const {
    const torch::NoGradGuard no_gradient;
    Tensors values;
    for (std::size_t at = 0; at < changes.size(); ++at) {
      const bool mean = network_.buffers[at].is_floating_point();
      values.push_back(mean ? network_.buffers_before[at] + changes[at] : changes[at]);
    }
    set_buffers(values);
  }

  LaneNetwork network_;
  std::vector<LaneRows> lanes_;
  LaneMemory memory_;
  Context context_;                // of the batch, for its backward pass
  Packet whole_;                   // the fields that the network reads
  Tensors inputs_;                 // those of its tensors that the graph outside computed
  Results results_;                // until they are taken
  std::vector<LaneGraph> graphs_;  // by lane; none with LaneMemory::recompute
};

/// The node of the graph outside: what the lanes provide, for all rows, with gradients to the
/// batch's inputs and weights.
struct LanesFunction : torch::autograd::Function<LanesFunction> {
  static Tensors forward(torch::autograd::AutogradContext* context,
                         at::TensorList /*inputs_and_weights*/,
                         const c10::intrusive_ptr<LaneBatch>& batch) {
    context->set_materialize_grads(false);
    context->save_for_backward(batch->used());
    context->saved_data["batch"] = c10::IValue::make_capsule(batch);
    LaneBatch::Results results = batch->take_results();
    context->mark_non_differentiable(results.constant);
    return results.all;
  }

  static Tensors backward(torch::autograd::AutogradContext* context, const Tensors& of_results) {
    if (at::GradMode::is_enabled()) {  // what create_graph sets
      throw Error("a network in lanes has no gradient of its gradient", Fault::internal);
    }
    // Throws if this is a second pass, or if one of them was written to.
    const Tensors used = context->get_saved_variables();
    Tensors all =
        c10::static_intrusive_pointer_cast<LaneBatch>(context->saved_data["batch"].toCapsule())
            ->gradients(of_results);
    all.emplace_back();  // of the argument `batch`
    return all;
  }
};

/// Computes a training batch in as many lanes as the run has, and sets the fields that the network
/// provides. A batch of a single lane is an ordinary one.
inline void compute_in_lanes(Packet& packet, LaneNetwork network, Context& context) {
  std::int64_t rows = 0;
  for (const Packet::Slot& slot : packet.slots()) {
    if (std::ranges::find(network.reads, slot.name) == network.reads.end()) continue;
    if (slot.type->rows != nullptr) rows = slot.type->rows(slot.value.get());
    if (rows > 0) break;
  }
  std::vector<LaneRows> lanes = lanes_of(packet, rows, context.lanes().count);
  if (lanes.size() < 2) {
    network.pass(packet, context);
    return;
  }
  const auto batch =
      c10::make_intrusive<LaneBatch>(std::move(network), packet, std::move(lanes), context);
  std::vector<Packet::Slot> provided = batch->forward(context);
  if (context.dropped()) return;
  const Tensors inputs_and_weights = batch->inputs_and_weights();
  Tensors results = LanesFunction::apply(at::TensorList(inputs_and_weights), batch);
  for (std::size_t at = 0; at < provided.size(); ++at) {
    provided[at].value = std::make_shared<Tensor>(std::move(results[at]));
    packet.put(std::move(provided[at]));
  }
}

}  // namespace seam::detail
