#include "pipeline/graph/ledger.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "pipeline/text/count.hpp"

namespace seam::host {
namespace {

void check_stages(const std::vector<StageCount>& counts, std::vector<std::string>& sentences) {
  for (const StageCount& count : counts) {
    if (count.kind == StageKind::source) continue;
    const std::uint64_t accounted = count.delivered + count.dropped_total() + count.failed;
    if (accounted != count.received) {
      sentences.push_back("stage '" + count.stage + "' received " + packets_text(count.received) +
                          " but accounts for " + std::to_string(accounted));
    } else if (count.delivered > count.received) {  // below zero: Emitter::drop
      sentences.push_back("collector '" + count.stage + "' dropped more packets than the " +
                          std::to_string(count.received) + " it received");
    }
  }
}

void check_edges(const FlowSpec& flow, const Segments& segments,
                 const std::vector<StageCount>& counts, std::vector<std::string>& sentences) {
  std::map<std::string, std::uint64_t> received;
  for (const StageCount& count : counts) received[count.stage] = count.received + count.discarded;
  for (const auto& segment : segments) {
    for (const auto& edge : segment->edges()) {
      const std::uint64_t sent = edge->packets;
      for (const std::string& to : edge->to) {
        // A join waits for all its inputs: a gap on one of them discards the packets of the others.
        const bool joined = std::ranges::any_of(flow.nodes, [&](const FlowNode& node) {
          return node.stage == to && node.inputs.size() > 1;
        });
        if (joined ? sent < received[to] : sent != received[to]) {
          sentences.push_back("'" + edge->from + "' sent " + packets_text(sent) + " to '" + to +
                              "', which received " + std::to_string(received[to]));
        }
      }
    }
  }
}

/// A collector that emits packets that it received selects among them: it may drop any of them, but
/// must emit or drop at least one. A collector without successors is not checked, because no stage
/// receives its packets.
void check_collectors(const Segments& segments, std::vector<std::string>& sentences) {
  for (const auto& segment : segments) {
    const StageRunner& stage = segment->last();
    if (stage.kind() != StageKind::collector || segment->edges().empty()) continue;
    if (const std::uint64_t both = segment->dropped_and_sent(); both > 0) {
      sentences.push_back("collector '" + stage.name() + "' dropped " + packets_text(both) +
                          " that it also emitted");
    }
    const std::uint64_t kept = segment->swallowed();
    const bool sent = segment->counter(segment->stages().size() - 1).emitted > 0;
    if (kept == 0 || (sent && !stage.description().replaces_packets)) continue;
    sentences.push_back("collector '" + stage.name() + "' received " + packets_text(kept) +
                        (sent ? " after the last packet it emitted" : ", emitted nothing") +
                        " and dropped none of them; a collector must report discarded packets "
                        "with Emitter::drop");
  }
}

}  // namespace

std::vector<StageCount> stage_counts(const Segments& segments, double seconds_a_tick,
                                     const BackwardClock& backward) {
  std::vector<StageCount> counts;
  for (const auto& segment : segments) {
    for (std::size_t at = 0; at < segment->stages().size(); ++at) {
      const StageRunner& stage = *segment->stages()[at];
      const Segment::Counter& counter = segment->counter(at);
      StageCount count;
      count.stage = stage.name();
      count.kind = stage.kind();
      count.received = counter.received();
      count.delivered = counter.delivered();
      count.emitted = counter.emitted;
      count.failed = counter.failed;
      count.discarded = counter.discarded;
      count.dropped = counter.dropped;
      count.busy_seconds = std::max(
          static_cast<double>(counter.busy_ticks()) * seconds_a_tick - counter.backward_seconds,
          0.0);
      count.backward_seconds = backward.seconds_of(stage.name());
      count.memory = counter.memory;
      count.packet_times = counter.packet_times(seconds_a_tick);
      count.waiting_most = at == 0 ? segment->queue().most() : 0;
      count.listing = segment->listing();
      counts.push_back(std::move(count));
    }
  }
  return counts;
}

std::vector<StageActivity> stage_activity(const Segments& segments, const StageRunner* beginning) {
  std::vector<StageActivity> activity;
  for (const auto& segment : segments) {
    for (std::size_t at = 0; at < segment->stages().size(); ++at) {
      const StageRunner& stage = *segment->stages()[at];
      const Segment::Counter& counter = segment->counter(at);
      const bool last = at + 1 == segment->stages().size();
      StageActivity now;
      now.stage = stage.name();
      now.kind = stage.kind();
      // Loaded before `received`, so that `inside` cannot be negative if a packet leaves meanwhile.
      const std::uint64_t through = counter.delivered() + counter.dropped_total + counter.failed;
      const std::uint64_t received = counter.received();
      now.done = through + counter.emitted;
      if (stage.kind() != StageKind::source) now.inside = received - std::min(through, received);
      now.waiting = at == 0 ? segment->queue().waiting() : 0;
      if (&stage == beginning) {
        now.call = StageActivity::Call::begin;
      } else if (&stage == segment->calling()) {
        now.call = stage.kind() == StageKind::source ? StageActivity::Call::produce
                                                     : StageActivity::Call::end;
      }
      now.waits_for_room =
          last && segment->pumping() && now.call == StageActivity::Call::none && !segment->room();
      activity.push_back(std::move(now));
    }
  }
  return activity;
}

std::vector<std::string> imbalances(const FlowSpec& flow, const Segments& segments,
                                    const std::vector<StageCount>& counts, Ended ended) {
  std::vector<std::string> sentences;
  check_stages(counts, sentences);
  check_edges(flow, segments, counts, sentences);
  if (ended == Ended::whole) check_collectors(segments, sentences);
  return sentences;
}

}  // namespace seam::host
