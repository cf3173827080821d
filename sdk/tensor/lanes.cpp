#include "seam/lanes.hpp"

#include <torch/autograd.h>
#include <torch/utils.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "sdk/tensor/lane_bytes.hpp"
#include "sdk/tensor/lane_rows.hpp"
#include "sdk/tensor/lane_sharing.hpp"

namespace seam::detail {
namespace {

/// The slot's tensor; undefined if it holds another type.
Tensor tensor_in(const Packet::Slot& slot) {
  return slot.type->name == type_name<Tensor>() ? *static_cast<const Tensor*>(slot.value.get())
                                                : Tensor();
}

/// A batch in lanes; lives as long as the graph outside. LibTorch calls forward() and gradients()
/// without recording a graph.
class LaneBatch final : public torch::CustomClassHolder {
 public:
  /// Throws seam::Error (configuration) if a field of the packet cannot be cut.
  LaneBatch(LaneNetwork network, const Packet& packet, std::vector<LaneRows> lanes,
            const Context& context)
      : network_(std::move(network)),
        lanes_(std::move(lanes)),
        context_(context.in_lane()),
        sharing_(lanes_.size(), context.lanes().ranks),
        whole_(packet.origin()),
        used_(network_.weights),
        ends_(network_.weights),
        passes_(lanes_.size()) {
    whole_.set_sequence(packet.sequence());
    for (const Packet::Slot& slot : packet.slots()) {
      if (!network_.reads_field(slot.name)) continue;
      if (slot.type->slice == nullptr) {
        throw Error("field '" + std::string(slot.name) + "' (" + readable_type(slot.type->name) +
                        ") cannot be cut into lanes, because its FieldTraits have no slice(); "
                        "remove `lanes` from [pipeline]",
                    Fault::configuration);
      }
      whole_.put(slot);
      const Tensor tensor = tensor_in(slot);
      if (tensor.defined()) used_.push_back(tensor);
      if (tensor.defined() && tensor.requires_grad()) ends_.push_back(tensor);
    }
  }

  /// Computes all lanes. Returns the values of provided() for all rows, and again those without a
  /// gradient. Nothing if the network drops the packet.
  [[nodiscard]] std::pair<Tensors, Tensors> forward() {
    const std::vector<std::uint64_t> versions = versions_of_used();
    std::vector<Tensors> results(lanes_.size());  // of each lane
    std::vector<bool> has_gradient;
    std::vector<Tensors> sums;                  // of parts_of_buffers()
    Tensors integers(network_.buffers.size());  // from the last lane, if another rank computes it

    const auto compute_lane = [&](std::size_t lane) {
      if (context_.dropped()) return Tensors(2 * network_.buffers.size());
      Pass pass = compute(lanes_[lane]);
      has_gradient.resize(provided_.size());
      for (std::size_t at = 0; at < pass.results.size(); ++at) {
        results[lane].push_back(pass.results[at].detach());
        has_gradient[at] = has_gradient[at] || pass.results[at].requires_grad();
      }
      const bool keeps = context_.training() && context_.lanes().memory == LaneMemory::keep;
      if (keeps) passes_[lane] = std::move(pass);
      return parts_of_buffers(lanes_[lane]);
    };
    const auto compute_own = [&] {
      sums = sharing_.own_sums(compute_lane);
      if (context_.dropped()) return;
      settled_ = true;
      if (versions_of_used() == versions) return;
      throw error(
          "writes into a tensor that it reads, which would change the lane when it is "
          "computed again; set a new tensor instead");
    };
    const auto write = [&](ByteWriter& bytes) {
      bytes.number(static_cast<std::int64_t>(provided_.size()));
      for (std::size_t at = 0; at < provided_.size(); ++at) {
        bytes.text(provided_[at].name);
        bytes.number(has_gradient[at] ? 1 : 0);
      }
      sharing_.write_lanes(bytes, results);
      sharing_.write_sums(bytes, sums);
      for (const Tensor& buffer : network_.buffers) {
        bytes.tensor(buffer.is_floating_point() ? Tensor() : buffer);
      }
    };
    const auto read = [&](ByteReader& bytes, std::size_t rank) {
      const auto count = static_cast<std::size_t>(bytes.number());
      for (std::size_t at = 0; at < std::max(count, provided_.size()); ++at) {
        if (at >= count) throw differs(provided_[at].name);
        const std::string_view name = bytes.text();
        if (at >= provided_.size() || name != provided_[at].name) throw differs(name);
        has_gradient[at] = bytes.number() != 0 || has_gradient[at];
      }
      const torch::Device device = device_of(context_);
      sharing_.read_lanes(bytes, rank, device, results, count);
      sharing_.read_sums(bytes, rank, device, sums, 2 * network_.buffers.size());
      for (Tensor& integer : integers) {
        const Tensor value = bytes.tensor(device);
        if (rank == sharing_.rank_of_last_lane()) integer = value;
      }
    };
    Tensors same = used_;
    same.insert(same.end(), network_.buffers_before.begin(), network_.buffers_before.end());
    sharing_.share("forward pass of " + batch_text(same), context_, compute_own, write, read);
    seed_generator();
    if (context_.dropped()) return {};
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      for (std::size_t at = 0; at < provided_.size(); ++at) {
        const bool fits = FieldTraits<Tensor>::rows(results[lane].at(at)) == lanes_[lane].count;
        if (!fits) throw differs(provided_[at].name);
      }
    }
    set_buffers(mean_over_rows(sharing_.sum(std::move(sums))));
    set_buffers(integers);
    std::pair<Tensors, Tensors> joined_results;
    for (std::size_t at = 0; at < provided_.size(); ++at) {
      Tensors rows;
      for (const Tensors& of_lane : results) rows.push_back(of_lane[at]);
      joined_results.first.push_back(at::cat(rows));
      if (!has_gradient[at]) joined_results.second.push_back(joined_results.first.back());
    }
    return joined_results;
  }

  /// Of ends(), from those of the results, any of which may be undefined.
  [[nodiscard]] Tensors gradients(const Tensors& of_results) {
    Tensors buffers_after;
    for (const Tensor& buffer : network_.buffers) buffers_after.push_back(buffer.clone());
    const auto weights = static_cast<std::ptrdiff_t>(network_.weights.size());
    const std::size_t inputs = ends_.size() - network_.weights.size();
    std::vector<Tensors> of_inputs(lanes_.size());  // of each lane
    std::vector<Tensors> sums;                      // of the weights

    const auto compute_lane = [&](std::size_t lane) {
      // Also computed again if an earlier backward pass has used the graph.
      Pass pass = std::exchange(passes_[lane], {});
      if (pass.results.empty()) pass = compute_again(lanes_[lane]);
      set_buffers(pass.buffers);
      Tensors found = gradients_in(pass, lanes_[lane], of_results);
      of_inputs[lane].assign(found.begin() + weights, found.end());
      found.resize(network_.weights.size());
      for (std::size_t at = 0; at < found.size(); ++at) {
        found[at] = laid_out_like(network_.weights[at], found[at]);
      }
      return found;
    };
    const auto compute_own = [&] {
      sums = sharing_.own_sums(compute_lane);
      set_buffers(buffers_after);
    };
    const auto write = [&](ByteWriter& bytes) { sharing_.write_lanes(bytes, of_inputs); };
    const auto read = [&](ByteReader& bytes, std::size_t rank) {
      sharing_.read_lanes(bytes, rank, device_of(context_), of_inputs, inputs);
    };
    const std::string what = "backward pass of " + batch_text(of_results);
    sharing_.share(what, context_, compute_own, write, read);
    Tensors all = sharing_.sum_in_pieces(what, std::move(sums), network_.weights);
    seed_generator();
    for (std::size_t input = 0; input < inputs; ++input) {
      Tensors of_lanes;
      for (const Tensors& of_lane : of_inputs) of_lanes.push_back(of_lane[input]);
      all.push_back(joined(of_lanes, ends_[network_.weights.size() + input]));
    }
    return all;
  }

  [[nodiscard]] const Context& context() const { return context_; }
  /// The fields that the network provides, without values.
  [[nodiscard]] const std::vector<Packet::Slot>& provided() const { return provided_; }
  /// Of the graph outside: the weights, then the tensors that it computed.
  [[nodiscard]] const Tensors& ends() const { return ends_; }
  /// What must not change until the gradients are computed.
  [[nodiscard]] const Tensors& used() const { return used_; }

 private:
  /// A pass over some rows, with its own graph.
  struct Pass {
    Tensors ends;  ///< the weights, then rows of the other ends(), cut off from the graph outside
    Tensors results;  ///< of provided()
    Tensors buffers;  ///< copies, as the lane has changed them: its graph may use them
  };

  /// Later stages that draw random numbers from LibTorch's generator get the same ones, whichever
  /// lanes this rank has computed last.
  void seed_generator() const { torch::manual_seed(context_.random(whole_).bits64()); }

  /// What must be the same on all ranks, in words: of the fields, tensors and integers.
  [[nodiscard]] std::string batch_text(const Tensors& same) const {
    if (!sharing_.has_others()) return {};
    using Integers = std::vector<std::int64_t>;
    Checksum checksum;
    for (const Tensor& tensor : same) checksum.add(tensor);
    for (const LaneRows& lane : lanes_) checksum.add(Integers{lane.first, lane.count});
    for (const Packet::Slot& slot : whole_.slots()) {
      if (slot.type->name != type_name<Integers>()) continue;
      checksum.add(*static_cast<const Integers*>(slot.value.get()));
    }
    return "stage '" + std::string(context_.stage()) + "', packet " +
           std::to_string(whole_.sequence()) + " with " +
           std::to_string(lanes_.back().first + lanes_.back().count) + " rows, checksum " +
           checksum.text();
  }

  [[nodiscard]] Error error(const std::string& problem) const {
    return Error("stage '" + std::string(context_.stage()) + "' cannot compute in lanes: it " +
                     problem + ", or remove `lanes` from [pipeline]",
                 Fault::configuration);
  }

  [[nodiscard]] std::vector<std::uint64_t> versions_of_used() const {
    std::vector<std::uint64_t> versions;
    for (const Tensor& tensor : used_) versions.push_back(FieldTraits<Tensor>::version(tensor));
    return versions;
  }

  /// The lane as a packet. Its sequence number, on which random numbers depend, consists of the
  /// batch's and of the first row.
  [[nodiscard]] Packet packet_of(const LaneRows& lane, Tensors& ends) const {
    Packet packet(whole_.origin());
    packet.set_sequence(whole_.sequence() ^ (static_cast<std::uint64_t>(lane.first) << 32U));
    for (Packet::Slot slot : whole_.slots()) {
      slot.value = slot.type->slice(slot.value.get(), lane.first, lane.count);
      if (const Tensor rows = tensor_in(slot); rows.defined() && rows.requires_grad()) {
        ends.push_back(rows.detach().requires_grad_(true));
        slot.value = std::make_shared<Tensor>(ends.back());
      }
      packet.put(std::move(slot));
    }
    return packet;
  }

  /// Leaves the buffers as the lane changes them. Without results if the packet is dropped.
  [[nodiscard]] Pass compute(const LaneRows& lane) {
    const at::AutoGradMode with_gradients(context_.training());
    set_buffers(network_.buffers_before);
    Pass pass{network_.weights, {}, {}};
    Packet packet = packet_of(lane, pass.ends);
    const Packet before = packet;
    network_.pass(packet, context_);
    if (context_.dropped()) return {};
    for (const Packet::Slot& slot : packet.slots()) {
      const auto same = [&](const Packet::Slot& one) { return one.value == slot.value; };
      if (std::ranges::any_of(before.slots(), same)) continue;
      const std::size_t at = pass.results.size();
      pass.results.push_back(tensor_in(slot));
      if (!settled_ && lane.first == lanes_[sharing_.first_own_lane()].first) {
        provided_.push_back({slot.name, slot.type, nullptr, slot.by_row});
      }
      if (at >= provided_.size() || slot.name != provided_[at].name ||
          FieldTraits<Tensor>::rows(pass.results[at]) != lane.count) {
        throw differs(slot.name);
      }
    }
    if (pass.results.size() < provided_.size()) throw differs(provided_[pass.results.size()].name);
    for (const Tensor& buffer : network_.buffers) pass.buffers.push_back(buffer.clone());
    return pass;
  }

  [[nodiscard]] Error differs(std::string_view field) const {
    return error("provides field '" + std::string(field) +
                 "' in some lanes only, or not as a tensor with one value per row; provide it in "
                 "all of them");
  }

  /// In the backward pass, where a message would otherwise name the optimizer.
  [[nodiscard]] Pass compute_again(const LaneRows& lane) {
    const std::string place =
        "stage '" + std::string(context_.stage()) + "', computing a lane again: ";
    try {
      Pass pass = compute(lane);
      if (!context_.dropped()) return pass;
    } catch (const Error& failed) {
      throw Error(place + failed.what(), failed.fault());
    }
    throw Error(place + "it drops the batch, which it did not do before: " + context_.drop_reason(),
                Fault::data);
  }

  /// Of the pass's ends; undefined if the results do not depend on them.
  [[nodiscard]] static Tensors gradients_in(const Pass& pass, const LaneRows& lane,
                                            const Tensors& of_results) {
    Tensors results;
    Tensors known;
    for (std::size_t at = 0; at < pass.results.size(); ++at) {
      if (!of_results[at].defined() || !pass.results[at].requires_grad()) continue;
      results.push_back(pass.results[at]);
      known.push_back(of_results[at].narrow(0, lane.first, lane.count));
    }
    if (results.empty()) return Tensors(pass.ends.size());
    return torch::autograd::grad(results, pass.ends, known, /*retain_graph=*/false,
                                 /*create_graph=*/false, /*allow_unused=*/true);
  }

  /// The same values, with the strides of a dense tensor like `weight`: the optimizer gets them so
  /// in any case.
  [[nodiscard]] static Tensor laid_out_like(const Tensor& weight, const Tensor& gradient) {
    if (!gradient.defined()) return {};
    const bool same =
        weight.is_non_overlapping_and_dense() && weight.strides() == gradient.strides();
    return same ? gradient : at::empty_like(weight).copy_(gradient);
  }

  /// The gradient of an input from those of its lanes; undefined if all of them are, because the
  /// losses do not reach it.
  [[nodiscard]] Tensor joined(Tensors& of_lanes, const Tensor& input) const {
    const auto defined = [](const Tensor& one) { return one.defined(); };
    if (std::ranges::none_of(of_lanes, defined)) return {};
    for (std::size_t at = 0; at < of_lanes.size(); ++at) {
      if (of_lanes[at].defined()) continue;
      of_lanes[at] = at::zeros_like(input.narrow(0, lanes_[at].first, lanes_[at].count));
    }
    return at::cat(of_lanes);
  }

  /// Except for undefined values. The writes do not count as changes, because the graphs of other
  /// lanes refer to the buffers.
  void set_buffers(const Tensors& values) const {
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (values[at].defined()) network_.buffers[at].variable_data().copy_(values[at]);
    }
  }

  /// The lane's part of mean_over_rows(): the buffers in proportion to its rows, then whether it
  /// changed them. Undefined for integers, such as counts of batches.
  [[nodiscard]] Tensors parts_of_buffers(const LaneRows& lane) const {
    const double share = static_cast<double>(lane.count) /
                         static_cast<double>(lanes_.back().first + lanes_.back().count);
    const std::size_t count = network_.buffers.size();
    Tensors parts(2 * count);
    for (std::size_t at = 0; at < count; ++at) {
      const Tensor& buffer = network_.buffers[at];
      if (!buffer.is_floating_point()) continue;
      parts[at] = buffer * share;
      parts[count + at] = (buffer != network_.buffers_before[at]).to(torch::kInt64);
    }
    return parts;
  }

  /// The buffers after the batch: elements that no lane changed as they were, and undefined ones
  /// for integers, which keep the values from the last lane.
  [[nodiscard]] Tensors mean_over_rows(Tensors sums) const {
    const std::size_t count = network_.buffers.size();
    for (std::size_t at = 0; at < count; ++at) {
      if (!sums[at].defined()) continue;
      sums[at] = at::where(sums[count + at] == 0, network_.buffers_before[at], sums[at]);
    }
    sums.resize(count);
    return sums;
  }

  LaneNetwork network_;
  std::vector<LaneRows> lanes_;
  Context context_;  // also for the backward pass
  LaneSharing sharing_;
  Packet whole_;  // the fields that the network reads
  Tensors used_;
  Tensors ends_;
  std::vector<Packet::Slot> provided_;
  std::vector<Pass> passes_;  // by lane; empty ones are computed again
  bool settled_ = false;      // provided_ has all fields
};

/// The node of the graph outside: what the lanes provide, for all rows, with gradients to the
/// weights and the batch's inputs.
struct LanesFunction : torch::autograd::Function<LanesFunction> {
  static Tensors forward(torch::autograd::AutogradContext* context, at::TensorList /*ends*/,
                         const c10::intrusive_ptr<LaneBatch>& batch) {
    context->set_materialize_grads(false);
    context->save_for_backward(batch->used());
    context->saved_data["batch"] = c10::IValue::make_capsule(batch);
    auto [results, constant] = batch->forward();
    context->mark_non_differentiable(constant);
    return std::move(results);
  }

  static Tensors backward(torch::autograd::AutogradContext* context, const Tensors& of_results) {
    const auto batch =
        c10::static_intrusive_pointer_cast<LaneBatch>(context->saved_data["batch"].toCapsule());
    if (at::GradMode::is_enabled()) {  // what create_graph sets
      throw Error("stage '" + std::string(batch->context().stage()) +
                      "' computes in lanes, which have no gradient of the gradient; remove `lanes` "
                      "from [pipeline]",
                  Fault::configuration);
    }
    // Throws if one of them was written to.
    const Tensors used = context->get_saved_variables();
    Tensors all = batch->gradients(of_results);
    all.emplace_back();  // of the argument `batch`
    return all;
  }
};

}  // namespace

std::vector<std::string> fields_read_by_row(const Configured& declared, const std::string& stage) {
  std::vector<std::string> read;
  const auto require = [&](bool fits, const FieldInfo& field, const std::string& problem) {
    if (fits) return;
    throw Error("stage '" + stage + "' cannot compute in lanes, because its field '" + field.name +
                    "' " + problem + "; remove `lanes` from [pipeline]",
                Fault::configuration);
  };
  for (const auto* fields : {&declared.needs, &declared.accepts, &declared.provides}) {
    for (const FieldInfo& field : *fields) {
      require(Field<Tensor>{field.name, field.contract}.by_row(), field,
              "(" + (field.contract.empty() ? "without a contract" : field.contract) +
                  ") is not declared to have one value per row, as f32[N,E] is");
      if (fields != &declared.provides) {
        read.push_back(field.name);
      } else {
        require(field.type == type_name<Tensor>(), field, "is provided and is not a tensor");
      }
    }
  }
  return read;
}

void compute_in_lanes(Packet& packet, LaneNetwork network, Context& context) {
  std::int64_t rows = -1;
  for (const Packet::Slot& slot : packet.slots()) {
    if (!network.reads_field(slot.name) || slot.type->rows == nullptr) continue;
    const std::int64_t count = slot.type->rows(slot.value.get());
    if (rows >= 0 && count >= 0 && count != rows) {
      throw Error("field '" + std::string(slot.name) + "' has " + std::to_string(count) +
                      " rows and a field before it " + std::to_string(rows) + ", so that stage '" +
                      std::string(context.stage()) +
                      "' cannot compute in lanes; remove `lanes` from [pipeline]",
                  Fault::configuration);
    }
    rows = std::max(rows, count);
  }
  std::vector<LaneRows> lanes =
      lanes_of(packet, rows, context.lanes().count, context.training() ? 2 : 8);
  if (lanes.size() < 2) {
    network.pass(packet, context);
    return;
  }
  const auto batch =
      c10::make_intrusive<LaneBatch>(std::move(network), packet, std::move(lanes), context);
  Tensors results = context.training() ? LanesFunction::apply(at::TensorList(batch->ends()), batch)
                                       : batch->forward().first;
  if (batch->context().dropped()) return context.drop(batch->context().drop_reason());
  for (std::size_t at = 0; at < results.size(); ++at) {
    Packet::Slot slot = batch->provided()[at];
    slot.value = std::make_shared<Tensor>(std::move(results[at]));
    packet.put(std::move(slot));
  }
}

}  // namespace seam::detail
