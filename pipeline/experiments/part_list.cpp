#include "pipeline/experiments/part_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "pipeline/experiments/run_folder.hpp"
#include "pipeline/run/parts.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/nearest.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

struct Found {
  ListedPart part;
  PartInputs inputs;
  std::map<std::string, std::uint64_t> listings;  ///< of sources; empty if it is not complete
};

/// How two parts differ; empty if they belong together.
std::string difference_between(const Found& before, const Found& now) {
  if (before.part.shard.of != now.part.shard.of) {
    return fmt::format("{} shards (were {})", now.part.shard.of, before.part.shard.of);
  }
  if (std::string how = difference_between(before.inputs, now.inputs); !how.empty()) return how;
  const bool both = !before.listings.empty() && !now.listings.empty();
  if (!both || before.listings == now.listings) return {};
  std::vector<std::pair<std::string, std::uint64_t>> different;
  std::ranges::set_symmetric_difference(before.listings, now.listings,
                                        std::back_inserter(different));
  return fmt::format("the list of packets from '{}': its data has changed between the shards",
                     different.front().first);
}

void count(const RunFolder& run, Found& found) {
  for (const FlowTotal& flow : run.flows) {
    for (const StageCount& stage : flow.stages) {
      if (stage.kind == StageKind::source) {
        found.part.packets += stage.emitted;
        found.listings[stage.stage] = stage.listing;  // 0 if the source found nothing
      }
      found.part.lost += stage.failed + stage.dropped_total();
    }
  }
}

/// Reads the part's state and, if it is complete, its files.
void read_state(Found& found) {
  ListedPart& part = found.part;
  try {
    const RunFolder run = read_run(part.run, part.run.filename().string());
    part.state = state_text(run.state);
    part.note = run.note;
    if (run.state != RunState::complete) return;
    count(run, found);
    part.note = damage_of(part.run);
    if (!part.note.empty()) part.state = "damaged";
  } catch (const Error& error) {
    part.state = "damaged";
    part.note = error.full_message();
  }
}

std::vector<Found> found_in(const fs::path& out) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    if (is_run_folder(entry.path())) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  std::vector<Found> found;
  for (const fs::path& folder : folders) {
    const std::optional<Shard> shard = recorded_shard(folder);
    if (!shard) continue;
    Found& one = found.emplace_back();
    one.inputs = read_inputs(folder);
    one.part.shard = *shard;
    one.part.run = fs::absolute(folder).lexically_normal();
    read_state(one);
  }
  return found;
}

/// The first of the largest group of parts that belong together.
const Found& typical(const std::vector<Found>& found) {
  std::vector<std::pair<const Found*, std::size_t>> groups;
  for (const Found& one : found) {
    const auto same = std::ranges::find_if(
        groups, [&](const auto& group) { return difference_between(*group.first, one).empty(); });
    if (same == groups.end()) {
      groups.emplace_back(&one, 1);
    } else {
      ++same->second;
    }
  }
  return *std::ranges::max_element(groups, {}, [](const auto& group) {
            return group.second;
          })->first;
}

}  // namespace

std::vector<ListedPart> list_parts(const fs::path& out) {
  if (!fs::is_directory(out)) {
    throw Error("there is no folder '" + out.string() + "'", Fault::configuration);
  }
  std::vector<Found> found = found_in(out);
  if (found.empty()) {
    throw Error(fmt::format("'{}' contains no shards; pass the --run-dir of `seam run --shard`",
                            out.string()),
                Fault::configuration);
  }
  const Found& reference = typical(found);
  std::map<std::uint64_t, fs::path> taken;
  std::vector<ListedPart> parts;
  for (const Found& one : found) {
    ListedPart part = one.part;
    if (std::string how = difference_between(reference, one); !how.empty()) {
      part.state = "different";
      part.note = std::move(how);
    } else if (const auto [first, is_new] = taken.emplace(part.shard.number, part.run); !is_new) {
      part.state = "doubled";
      part.note = "also in '" + first->second.string() + "'";
    }
    parts.push_back(std::move(part));
  }
  const Shard all = reference.part.shard;
  for (std::uint64_t number = 0; number < all.of; ++number) {
    if (taken.contains(number)) continue;
    ListedPart missing;
    missing.shard = {number, all.of};
    missing.state = "missing";
    parts.push_back(std::move(missing));
  }
  std::ranges::stable_sort(parts, {}, [](const ListedPart& part) { return part.shard.number; });
  return parts;
}

bool all_complete(const std::vector<ListedPart>& parts) {
  return std::ranges::all_of(parts,
                             [](const ListedPart& part) { return part.state == "complete"; });
}

std::string summary_of(const std::vector<ListedPart>& parts) {
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t packets = 0;
  std::uint64_t lost = 0;
  for (const ListedPart& part : parts) {
    ++counts[part.state];
    if (part.state != "complete") continue;
    packets += part.packets;
    lost += part.lost;
  }
  std::vector<std::string> others;
  std::uint64_t of = counts["complete"];
  for (const auto& [state, number] : counts) {
    if (state == "complete") continue;
    others.push_back(fmt::format("{} {}", number, state));
    if (state != "different" && state != "doubled") of += number;
  }
  return fmt::format("{} of {} {} complete: {}, {} of them dropped or skipped{}",
                     counts["complete"], counted(of, "shard"), of == 1 ? "is" : "are",
                     packets_text(packets), count_text(lost),
                     others.empty() ? "" : "; " + enumerated(others));
}

}  // namespace seam::host
