// Checks a stage's state across flows, and how its flows end.

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance_trial.hpp"
#include "seam/network.hpp"
#include "thread_ranks.hpp"

namespace seam::testing::checks {
namespace {

constexpr std::size_t first_packets = 3;
constexpr std::array thread_counts{1, 2, 5};
constexpr std::array<std::string_view, 4> all_labels{field::category.name, field::categories.name,
                                                     field::item.name, field::items.name};

/// Loads the saved state into a fresh stage and the stages before it.
void load(Harness& harness, const std::vector<Archive>& saved) {
  harness.open();
  harness.runner().load(saved.front());
  for (std::size_t at = 0; at < harness.upstream().size(); ++at) {
    harness.upstream()[at]->load(saved.at(at + 1));
  }
}

std::string first_difference(const Archive& a, const Archive& b) {
  for (const auto& [name, entry] : a.entries()) {
    if (!b.has(name)) return "'" + name + "' is missing";
    if (!(b.get(name) == entry)) return "'" + name + "' differs";
  }
  for (const auto& [name, entry] : b.entries()) {
    if (!a.has(name)) return "'" + name + "' is new";
  }
  return {};
}

/// Labels of the images; two sets, so that a stage that only compares labels is found as well.
enum class Labels : std::uint8_t { one_for_all, each_its_own };

/// Gives the packet's images different labels. `next`: the first free number.
void relabel(Packet& packet, std::string_view label, Labels labels, std::int64_t& next) {
  if (!packet.has(label)) return;
  const auto number = [&] { return labels == Labels::one_for_all ? 0 : next++; };
  const auto item = [&] { return "item " + std::to_string(number()); };
  if (label == field::category.name) {
    packet.set(field::category, number());
  } else if (label == field::item.name) {
    packet.set(field::item, item());
  } else if (label == field::categories.name) {
    std::vector<std::int64_t> categories = packet[field::categories];
    std::ranges::generate(categories, number);
    packet.set(field::categories, std::move(categories));
  } else {
    std::vector<std::string> items = packet[field::items];
    std::ranges::generate(items, item);
    packet.set(field::items, std::move(items));
  }
}

/// A flow that evaluates the example's packets with these labels; the result does not contain the
/// labels.
Result labelled(const Candidate& candidate, const std::vector<std::string_view>& which,
                std::optional<Labels> how) {
  Trial trial(candidate, false);
  std::vector<Packet> packets = trial.packets();
  std::int64_t next = 0;
  for (Packet& packet : packets) {
    for (const std::string_view label : which) {
      if (how) relabel(packet, label, *how, next);
    }
  }
  trial->push_all(std::move(packets), 1);
  trial->finish();
  Result result{trial->take_outputs(), {}};
  for (Packet& packet : result.outputs) {
    for (const std::string_view label : all_labels) packet.erase(label);
  }
  return result;
}

/// Outputs, state and gradients of a network's training flow in two lanes.
struct InLanes {
  Result result;
  std::vector<Archive> archives;
  std::string problem;  ///< an exception, if a rank has thrown one
};

std::int64_t rows_of(const Packet& packet) {
  std::int64_t rows = 0;
  for (const Packet::Slot& slot : packet.slots()) {
    if (slot.type->rows != nullptr) rows = std::max(rows, slot.type->rows(slot.value.get()));
  }
  return rows;
}

/// Nothing if the stage cannot compute in lanes.
std::optional<InLanes> in_lanes(const Candidate& candidate, const Lanes& how) {
  Trial trial(candidate, true);
  trial->lanes(how);
  try {
    trial->open();
  } catch (const Error& error) {
    if (error.fault() != Fault::configuration) throw;
    return std::nullopt;
  }
  // The largest last, because the gradients are those of the last packet.
  std::vector<Packet> packets = trial.packets();
  std::ranges::stable_sort(packets, {}, rows_of);
  trial->push_all(std::move(packets), 1);
  InLanes lanes{take(*trial), {}, {}};
  // Before the end of the flow, which restores buffers that a gradient may need.
  lanes.archives.push_back(candidate.weights(trial->runner().stage(), lanes.result.outputs));
  trial->finish();
  for (Archive& archive : save(*trial)) lanes.archives.push_back(std::move(archive));
  return lanes;
}

/// By rank, of two ranks with a lane each.
std::vector<InLanes> in_lanes_of_two_ranks(const Candidate& candidate) {
  constexpr int world = 2;
  std::vector<InLanes> all(world);
  ThreadRanks(world).run([&](Ranks& rank) {
    InLanes& own = all[static_cast<std::size_t>(rank.rank())];
    try {
      own = in_lanes(candidate, {world, LaneMemory::keep, &rank}).value();
    } catch (const std::exception& error) {
      own.problem = error.what();
    }
  });
  return all;
}

/// Returns a description of the first difference, or nullopt.
std::optional<std::string> lane_difference(const InLanes& a, const InLanes& b) {
  if (!b.problem.empty()) return b.problem;
  if (auto found = difference(a.result, b.result)) return found;
  for (std::size_t at = 0; at < a.archives.size(); ++at) {
    std::string found = first_difference(a.archives[at], b.archives.at(at));
    if (!found.empty()) return found;
  }
  return std::nullopt;
}

InLanes without_metrics(InLanes lanes) {
  std::erase_if(lanes.result.rest, [](const auto& line) { return line.starts_with("metric "); });
  return lanes;
}

/// How the results of a network in lanes depend on LaneMemory and on ranks.
void add_differences_of_lanes(const Candidate& candidate, Findings& findings) {
  const auto keep = in_lanes(candidate, {2, LaneMemory::keep});
  if (!keep) return;
  for (const std::string& line : keep->result.rest) {
    if (line.starts_with("an error: ")) return findings.push_back("in two lanes: " + line);
  }
  const auto recompute = in_lanes(candidate, {2, LaneMemory::recompute});
  if (const auto found = lane_difference(*keep, *recompute)) {
    findings.push_back("lanes that are computed again for the gradient: " + *found);
  }
  for (std::size_t rank = 0; const InLanes& own : in_lanes_of_two_ranks(candidate)) {
    // Only rank 0 records metrics, so those of other ranks may be of their own lanes.
    const auto found = rank == 0 ? lane_difference(*keep, own)
                                 : lane_difference(without_metrics(*keep), without_metrics(own));
    if (found) {
      findings.push_back("lanes shared out to two ranks, rank " + std::to_string(rank) + ": " +
                         *found);
    }
    ++rank;
  }
}

}  // namespace

Findings leaves_its_thread_as_it_was(const Candidate& candidate) {
  if (!candidate.thread_settings) return {};
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    const auto watched = [&](const std::string& call, auto&& body) {
      trial->enter_thread();
      const std::vector<ThreadSetting> before = candidate.thread_settings();
      body();
      const std::vector<ThreadSetting> after = candidate.thread_settings();
      for (std::size_t at = 0; at < before.size(); ++at) {
        if (after.at(at).value == before[at].value) continue;
        findings.push_back(call + " changes " + before[at].name + " from " + before[at].value +
                           " to " + after[at].value +
                           " and leaves it changed for the stages after it; " + before[at].advice);
      }
    };
    watched("open()", [&] { trial->open(); });
    watched("begin()", [&] { trial->push_all({}); });
    if (trial.kind() == StageKind::source) {
      watched("produce()", [&] { trial->produce(most_from_a_source); });
    } else {
      for (Packet& packet : trial.packets()) {
        watched("process()", [&] { trial->push(std::move(packet)); });
      }
    }
    watched("end()", [&] { trial->finish(); });
  });
}

Findings ends_an_empty_flow(const Candidate& candidate) {
  return with_trial(candidate, [](Trial& trial, Findings& findings) {
    for (int flow = 0; flow < 2; ++flow) trial->finish();
    for (const Error& error : trial->errors()) {
      // An error such as "there is no query" is acceptable here; a division by zero is not.
      if (error.fault() != Fault::data) findings.push_back(error.full_message());
    }
  });
}

Findings ends_once(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    trial.flow();
    (void)take(*trial);
    // A stage with state may report on earlier flows, as does a stage that loads this state.
    Trial fresh(candidate, trial.training());
    if (trial.description().keeps_state) load(*fresh, save(*trial));
    fresh->finish();
    const Result nothing = take(*fresh);
    trial->finish();
    const Result left = take(*trial);
    if (const auto found = difference(nothing, left)) {
      findings.push_back("state leaks from a flow into the next, empty one: " + *found);
    }
  });
}

Findings gives_the_same_bytes(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    trial.flow(0);
    trial.flow(1);
    const Result once = take(*trial);
    for (const int threads : thread_counts) {
      Trial other(candidate, trial.training(), {}, threads);
      other.flow(0);
      other.flow(1);
      if (const auto found = difference(once, take(*other))) {
        findings.push_back("run again with " + std::to_string(threads) +
                           (threads == 1 ? " thread: " : " threads: ") + *found);
      }
    }
    const bool network =
        std::ranges::find(trial.description().offers, type_name<DescribesNetwork>(),
                          &OfferedInterface::interface) != trial.description().offers.end();
    if (!network || !trial.training() || !candidate.weights) return;
    // On a GPU, the two may round differently, as the gradient of a bias of model.capsnet does.
    if (candidate.device != "cpu") return;
    add_differences_of_lanes(candidate, findings);
  });
}

Findings keeps_its_state(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    trial.flow(0);
    const Result first = take(*trial);
    const std::vector<Archive> saved = save(*trial);
    if (!trial.description().keeps_state) {
      if (!saved.front().empty()) {
        findings.emplace_back("save() writes state, but declare() does not call keeps_state()");
      }
      // A resumed run starts with fresh stages.
      trial.flow(0);
      if (const auto found = difference(first, take(*trial)); found && !trial.training()) {
        findings.push_back("a flow depends on the one before, but nothing is saved: " + *found);
      }
      return;
    }
    if (saved.front().empty())
      findings.emplace_back("declare() calls keeps_state(), but save() writes nothing");
    trial.flow(1);
    const Result second = take(*trial);
    const std::vector<Archive> saved_at_end = save(*trial);

    Trial resumed(candidate, trial.training());
    load(*resumed, saved);
    if (!(resumed->runner().save() == saved.front())) {
      findings.push_back("after load(), save() writes something different: " +
                         first_difference(saved.front(), resumed->runner().save()));
    }
    resumed.flow(1);
    if (const auto found = difference(second, take(*resumed))) {
      findings.push_back("after load() its results differ: " + *found);
    }
    if (!(save(*resumed).front() == saved_at_end.front())) {
      findings.push_back("after load() and a flow its state differs: " +
                         first_difference(saved_at_end.front(), resumed->runner().save()));
    }
  });
}

Findings owns_up_to_labels(const Candidate& candidate) {
  Findings findings;
  expecting_nothing_thrown(findings, "working on the example", [&] {
    Trial trial(candidate, false);
    const Description& description = trial.description();
    // A label that a stage needs is obviously read.
    std::vector<std::string_view> unread;
    std::ranges::copy_if(all_labels, std::back_inserter(unread), [&](std::string_view label) {
      return find_field(description.accepts, label) != nullptr &&
             std::ranges::find(description.labels_read, label) == description.labels_read.end();
    });
    const bool transforms =
        trial.kind() == StageKind::transform || trial.kind() == StageKind::parallel_transform;
    if (!transforms || unread.empty()) return;
    const Result once = labelled(candidate, unread, std::nullopt);
    for (const Labels how : {Labels::one_for_all, Labels::each_its_own}) {
      if (const auto found = difference(once, labelled(candidate, unread, how))) {
        findings.push_back("with different labels, in evaluation: " + *found +
                           "; declare() must call reads_label() if evaluation reads them");
        return;
      }
    }
  });
  return findings;
}

Findings is_cancelled_anywhere(const Candidate& candidate) {
  std::vector<Findings> all(modes(candidate).size());
  const auto cancelled = [&](const std::string& when, auto&& body) {
    for (std::size_t at = 0; const bool training : modes(candidate)) {
      expecting_nothing_thrown(all[at++], "closed " + when, [&] {
        Trial trial(candidate, training);
        body(trial);
        trial->close();
      });
    }
  };
  cancelled("when it is open", [](Trial& trial) { trial->open(); });
  cancelled("in a flow", [](Trial& trial) { trial.feed(first_packets); });
  cancelled("after a flow", [](Trial& trial) { trial.flow(); });
  cancelled("after a flow that was stopped", [](Trial& trial) {
    trial->services().stop = true;
    try {
      if (trial.kind() == StageKind::source) {
        trial->open();
        trial->runner().interrupt();
        trial->runner().interrupt();  // like two signals from the user
      }
      trial.flow();
    } catch (const Error& error) {
      if (error.fault() != Fault::cancelled) throw;  // the requested outcome
    }
  });
  return joined(all);
}

}  // namespace seam::testing::checks
