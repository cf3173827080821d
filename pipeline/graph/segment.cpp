#include "pipeline/graph/segment.hpp"

#include <chrono>
#include <utility>

#include "pipeline/text/count.hpp"
#include "seam/random.hpp"

namespace seam::host {
namespace {

// More packets than a flow can have, and still far from overflow.
constexpr std::int64_t beyond_any_flow = std::int64_t{1} << 62;

/// In most cases, threads that run at the same time have different lanes.
std::size_t lane_of_thread() {
  static std::atomic<std::size_t> next = 0;
  thread_local const std::size_t lane = next++ % Segment::Counter::lanes;
  return lane;
}

/// For counters with one writer at a time: needs no locked instruction.
template <class Number>
void add_alone(std::atomic<Number>& counter, Number by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

template <class Number>
void add(Workplace place, std::atomic<Number>& counter, Number by) {
  if (place == Workplace::parallel_workers) {
    counter.fetch_add(by, std::memory_order_relaxed);
  } else {
    add_alone(counter, by);
  }
}

}  // namespace

/// Numbers, accounts for and forwards what a source or collector emits.
class Segment::Output final : public Emitter {
 public:
  enum class Collecting : std::uint8_t { nothing, packet };
  explicit Output(Segment& segment, Collecting collecting = Collecting::nothing)
      : segment_(segment), collecting_(collecting) {}

  void emit(Packet packet) override {
    if (segment_.has_done_its_part() || segment_.flow_.discarding()) return;
    if (segment_.chooses_) segment_.fates_.sent(packet);
    if (segment_.holdings_) segment_.holdings_->give(packet);
    Message message{segment_.next_out_++, Message::Kind::gap, 0, nullptr};
    if (segment_.block_ > 0) {
      segment_.listing_ = stream_of(std::to_string(segment_.listing_) + packet.origin().text());
      if (segment_.is_of_other_shard(message.sequence)) return segment_.forward(std::move(message));
    }
    packet.set_sequence(message.sequence);
    const Outcome outcome = segment_.last().check_provided(packet);
    add_alone<std::uint64_t>(segment_.counters_.back()->emitted, 1);
    if (!outcome) {
      segment_.flow_.fail(outcome.error());
    } else {
      segment_.unsent_ = 0;
      const std::uint64_t weight = std::exchange(segment_.weight_taken_, 0);
      if (message.sequence >= segment_.passed_over_) {
        message.kind = Message::Kind::packet;
        message.envelope = admitted(std::move(packet), weight);
      }
    }
    if (segment_.for_batch_ == ForBatch::makes_it) segment_.flow_.batch_made();
    if (segment_.points_ != nullptr && collecting_ == Collecting::packet) {
      segment_.hold(std::move(message));
    } else {
      segment_.forward(std::move(message));
    }
  }

  void drop(const Packet& packet, std::string reason) override {
    if (segment_.chooses_) segment_.fates_.dropped(packet.sequence());
    Counter& counter = *segment_.counters_.back();
    if (segment_.last().kind() == StageKind::collector) {
      add_alone(counter.lane(0).delivered, ~std::uint64_t{0});  // minus 1: it was counted
      if (segment_.unsent_ > 0) --segment_.unsent_;
    }
    segment_.drop(segment_.stages_.size() - 1, reason);
  }

 private:
  /// `weight`: of the packets that were received since the last one was emitted.
  [[nodiscard]] std::shared_ptr<Envelope> admitted(Packet packet, std::uint64_t weight) const {
    // A batch counts as its images, except those that another branch has already counted. Packets
    // emitted by a sampler count as one each.
    if (!segment_.last().description().replaces_packets) weight = 1;
    const auto bytes = static_cast<std::int64_t>(packet.bytes());
    auto envelope = std::make_shared<Envelope>();
    envelope->share = Share(segment_.flow_.budget.admit(*segment_.sizes_, bytes, weight), bytes);
    envelope->packet = std::move(packet);
    return envelope;
  }

  Segment& segment_;
  Collecting collecting_;
};

Segment::Segment(FlowState& flow, Workplace place, std::vector<StageRunner*> stages)
    : flow_(flow), place_(place), stages_(std::move(stages)), outstanding_(beyond_any_flow) {
  for (const StageRunner* stage : stages_) {
    counters_.push_back(std::make_unique<Counter>());
    const auto spec = flow.options.stage_specs.find(stage->name());
    specs_.push_back(spec == flow.options.stage_specs.end() ? nullptr : &spec->second);
  }
  const StageKind kind = last().kind();
  if (kind == StageKind::source || kind == StageKind::collector) sizes_ = &flow.budget.add_maker();
  pumping_ = kind == StageKind::source;
  chooses_ = kind == StageKind::collector && !last().description().replaces_packets;
  // A collector that makes new packets, such as batch, holds as much as one of them needs.
  if (chooses_) holdings_.emplace(flow.budget, flow.options.limits.bytes);
}

void Segment::add_edge(std::vector<std::string> to, std::function<void(Message&&)> put) {
  auto edge = std::make_unique<Edge>();
  edge->from = last().name();
  edge->to = std::move(to);
  edge->put = std::move(put);
  edges_.push_back(std::move(edge));
}

void Segment::begin_at(std::uint64_t first_in, std::uint64_t first_out) {
  in_order_.begin_at(first_in);
  outstanding_ -= static_cast<std::int64_t>(first_in);
  next_out_ = first_out;
}

void Segment::accept(Message&& message) {
  if (place_ != Workplace::parallel_workers) {
    in_order_.accept(std::move(message), [this](Message&& next) { handle(std::move(next)); });
    return;
  }
  if (message.kind == Message::Kind::end) {
    end_sequence_ = message.sequence;
    const auto before = static_cast<std::int64_t>(message.sequence) - beyond_any_flow;
    if (outstanding_.fetch_add(before) + before == 0) finish_stages(message.sequence);
    return;
  }
  handle(std::move(message));
  if (outstanding_.fetch_sub(1) - 1 == 0) finish_stages(end_sequence_);
}

void Segment::handle(Message&& message) {
  switch (message.kind) {
    case Message::Kind::packet:
      handle_packet(std::move(message));
      break;
    case Message::Kind::gap:
      // Collectors assign new numbers, so gaps end here.
      if (last().kind() != StageKind::collector) forward(std::move(message));
      break;
    case Message::Kind::end:
      if (last().kind() != StageKind::collector) return finish_stages(message.sequence);
      // The collector may have many packets left to emit, for which it waits for capacity like a
      // source.
      pumping_ = true;
      on_pumping();
      break;
  }
}

void Segment::handle_packet(Message&& message) {
  const StageKind kind = last().kind();
  const bool ends_here = kind == StageKind::collector || kind == StageKind::sink;
  if (has_done_its_part() || flow_.discarding()) {
    add<std::uint64_t>(place_, counters_.front()->discarded, 1);
    // So that later stages do not wait for it, and every packet in flight is counted.
    if (!ends_here) forward({message.sequence, Message::Kind::gap, 0, nullptr});
    return;
  }
  Envelope& envelope = *message.envelope;
  envelope.packet.set_sequence(message.sequence);
  const std::uint64_t sequence = message.sequence;
  const BackwardScope backward(backward_listener());
  const tensor_memory::OwnerScope owner_of_tensors(owner());
  if (backward_listener() != nullptr) flow_.backward_packet = sequence;
  if (measures_memory()) flow_.memory.begin();
  std::int64_t from = flow_.clock.now();
  for (std::size_t at = 0; at < stages_.size(); ++at) {
    const bool went_on = run_stage(at, envelope, from);
    if (held_) send_held(sequence);
    if (went_on) continue;
    // A packet that a collector drops leaves no gap in its output.
    if (!ends_here) forward({message.sequence, Message::Kind::gap, 0, nullptr});
    return;
  }
  if (!ends_here) forward(std::move(message));
}

bool Segment::run_stage(std::size_t at, Envelope& envelope, std::int64_t& from) {
  Counter& counter = *counters_[at];
  Counter::Lane& lane =
      counter.lane(place_ == Workplace::parallel_workers ? lane_of_thread() : std::size_t{0});
  add<std::uint64_t>(place_, lane.received, 1);
  const bool skip = specs_[at] != nullptr && specs_[at]->on_error == OnError::skip;
  // Collectors consume the packet.
  const std::uint64_t sequence = envelope.packet.sequence();
  std::optional<Origin> origin;
  if (skip) origin = envelope.packet.origin();
  const Outcome outcome = attempt(at, envelope);
  const std::int64_t began = from;
  account(at, lane, sequence, from);
  add<std::uint32_t>(place_, lane.packet_ticks[bucket_of(from - began)], 1);
  if (outcome) {
    add<std::uint64_t>(place_, lane.delivered, 1);
    return true;
  }
  if (outcome.kind() == Outcome::Kind::dropped) {
    drop(at, outcome.reason());
    return false;
  }
  add<std::uint64_t>(place_, counter.failed, 1);
  if (origin && outcome.error().fault() != Fault::cancelled && !stages_[at]->broke_declaration() &&
      !has_lost_ranks()) {
    flow_.skip(stages_[at]->name(), {*origin, replay_, sequence}, outcome.error());
  } else {
    flow_.fail(outcome.error());
  }
  return false;
}

Outcome Segment::attempt(std::size_t at, Envelope& envelope) {
  StageRunner& stage = *stages_[at];
  if (stage.kind() == StageKind::collector) return collect(envelope);
  const int retries =
      specs_[at] != nullptr && specs_[at]->on_error == OnError::retry ? specs_[at]->retries : 0;
  const bool changes_packet = stage.kind() != StageKind::sink;
  const auto call = [&] {
    return changes_packet ? stage.transform(flow_.run, envelope.packet)
                          : stage.consume(flow_.run, envelope.packet);
  };
  std::optional<Packet> before;  // handles only
  if (retries > 0 && changes_packet) before = envelope.packet;
  Outcome outcome = call();
  for (int i = 0; i < retries && outcome.kind() == Outcome::Kind::failed; ++i) {
    if (has_lost_ranks()) break;
    if (before) envelope.packet = *before;
    outcome = call();
  }
  if (changes_packet) envelope.account();
  return outcome;
}

Outcome Segment::collect(Envelope& envelope) {
  weight_taken_ += envelope.share.ticket()->take_weight();
  ++unsent_;
  if (holdings_) holdings_->take(envelope);
  if (chooses_) fates_.received(envelope.packet);
  Output output(*this, Output::Collecting::packet);
  const std::uint64_t sequence = envelope.packet.sequence();
  Outcome outcome = last().collect(flow_.run, std::move(envelope.packet), output);
  if (!outcome && unsent_ > 0) --unsent_;  // accounted for as dropped or failed
  if (outcome.kind() == Outcome::Kind::dropped && chooses_) fates_.dropped(sequence);
  envelope.share = Share();  // the message may wait for others to be handled: counted once
  if (holdings_ && holdings_->settle() == Holdings::Verdict::too_much) {
    const auto mebibytes = [](std::int64_t bytes) {
      return number_for_people(static_cast<double>(bytes) / 0x1p20);
    };
    flow_.fail(Error("collector '" + last().name() + "' holds " + mebibytes(holdings_->bytes()) +
                         " MiB of packets, more than `bytes` of [limits] allows (" +
                         mebibytes(flow_.options.limits.bytes) +
                         " MiB); place it before the stages that make packets large, such as "
                         "those that decode images, or raise limits.bytes",
                     Fault::configuration));
  }
  return outcome;
}

void Segment::finish_stages(std::uint64_t sequence) {
  const BackwardScope backward(backward_listener());
  const tensor_memory::OwnerScope owner_of_tensors(owner());
  if (measures_memory()) flow_.memory.begin();
  std::int64_t from = flow_.clock.now();
  for (std::size_t at = 0; at < stages_.size(); ++at) {
    if (flow_.discarding() || flow_.is_cut()) break;
    More more = More::no;
    calling_.store(stages_[at], std::memory_order_relaxed);
    const Outcome outcome = stages_[at]->finish(flow_.run, nullptr, more);
    calling_.store(nullptr, std::memory_order_relaxed);
    account(at, counters_[at]->lane(0), sequence, from);
    if (!outcome) flow_.fail(outcome.error());
  }
  forward({sequence, Message::Kind::end, 0, nullptr});
}

More Segment::pump() {
  const tensor_memory::OwnerScope owner_of_tensors(owner());
  Output output(*this);
  const bool source = last().kind() == StageKind::source;
  More more = More::yes;
  while (more == More::yes && !has_done_its_part() && !flow_.discarding() &&
         (source || !flow_.is_cut())) {
    if (!room()) return More::yes;
    if (measures_memory()) flow_.memory.begin();
    std::int64_t from = flow_.clock.now();
    calling_.store(&last(), std::memory_order_relaxed);
    const Outcome outcome =
        source ? last().produce(flow_.run, output, more) : last().finish(flow_.run, &output, more);
    calling_.store(nullptr, std::memory_order_relaxed);
    account(stages_.size() - 1, counters_.back()->lane(0), next_out_, from);
    if (!outcome) {
      // An exception from a collector's end() is not counted as a failed packet: all packets it
      // received are already accounted for.
      if (source) add_alone<std::uint64_t>(counters_.back()->failed, 1);
      flow_.fail(outcome.error());
    }
    if (on_portion) on_portion();
  }
  if (next_out_ < passed_over_ && !flow_.discarding() && !flow_.stop_requested()) {
    flow_.fail(Error("stage '" + last().name() + "' now produces " + std::to_string(next_out_) +
                         " packets, but " + std::to_string(passed_over_) +
                         " had been processed when the run was stopped: its data has changed",
                     Fault::data));
  }
  // It is unknown whether the source was interrupted or had finished.
  if (source && flow_.stop_requested()) flow_.cut();
  pumping_ = false;
  forward({next_out_, Message::Kind::end, 0, nullptr});
  if (on_portion) on_portion();
  return More::no;
}

void Segment::hold(Message&& message) {
  if (held_) forward(std::move(*held_));
  held_ = std::move(message);
  const StageRunner::Standing standing = ask_collector();
  held_alone_ = standing.pause == Pause::ready && !standing.held_from;
}

void Segment::send_held(std::uint64_t in_hand) {
  // The current packet may be part of this batch, or one of the first packets of the next.
  const StageRunner::Standing standing = ask_collector();
  const std::uint64_t made = held_->sequence + 1;
  if (standing.pause == Pause::ready) {
    points_->made(made, standing.held_from.value_or(in_hand + 1));
  } else if (held_alone_) {
    points_->made(made, in_hand);
  }
  Message message = std::move(*held_);
  held_.reset();
  forward(std::move(message));
}

StageRunner::Standing Segment::ask_collector() {
  try {
    const StageRunner::Standing standing = last().pause(flow_.run);
    if (standing.pause == Pause::unsupported) points_->cannot(last());
    return standing;
  } catch (const Error& error) {
    flow_.fail(error);
    return {Pause::later, std::nullopt};
  }
}

void Segment::forward(Message&& message) {
  const bool is_packet = message.kind == Message::Kind::packet;
  spread(std::move(message), edges_.size(), [&](std::size_t at, Message&& copy) {
    if (is_packet) add(place_, edges_[at]->packets, std::uint64_t{1});
    edges_[at]->put(std::move(copy));
  });
}

void Segment::account(std::size_t stage, Counter::Lane& lane, std::uint64_t sequence,
                      std::int64_t& from) {
  const std::int64_t began = std::exchange(from, flow_.clock.now());
  add<std::int64_t>(place_, lane.busy_ticks, from - began);
  if (backward_listener() != nullptr) {
    counters_[stage]->backward_seconds += flow_.backward.take_call_seconds();
  }
  CallMemory memory;
  if (measures_memory()) counters_[stage]->memory.add(memory = flow_.memory.take_call());
  if (flow_.options.calls == nullptr) return;
  const auto time = [](std::int64_t nanoseconds) {
    return std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::nanoseconds(nanoseconds)));
  };
  flow_.options.calls->called({flow_.run.flow, stages_[stage]->name(), sequence,
                               place_ == Workplace::compute_thread, time(began), time(from),
                               memory});
}

BackwardListener* Segment::backward_listener() const {
  const bool listens = flow_.run.training && place_ == Workplace::compute_thread;
  return listens ? &flow_.backward : nullptr;
}

bool Segment::has_lost_ranks() const {
  const Ranks* const ranks = flow_.run.lanes.ranks;
  return place_ == Workplace::compute_thread && ranks != nullptr && ranks->is_broken();
}

bool Segment::measures_memory() const {
  return backward_listener() != nullptr && flow_.run.device == "cpu";
}

void Segment::drop(std::size_t stage, const std::string& reason) {
  Counter& counter = *counters_[stage];
  counter.dropped_total.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(counter.mutex);
  ++counter.dropped[reason];
}

}  // namespace seam::host
