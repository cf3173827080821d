/// The shards of a job, read from the folder in which they write (parts.hpp).
///
///     OUT/part-00000-of-00003/    complete
///     OUT/part-00002-of-00003/    damaged: 'embeddings.npy' has changed since it was written
///                                 shard 1: missing
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/experiments/run_folder.hpp"
#include "pipeline/run/parts.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"
#include "pipeline/text/table.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

struct ListedPart {
  Shard shard;
  fs::path run;  ///< its folder, absolute; empty if it is missing
  /// "complete"; "missing", "running", "stopped", "failed" or "interrupted": run it again;
  /// "damaged": its files are not those that it wrote; "different": not made from the same inputs
  /// as most of the others; "doubled": another folder has the same shard.
  std::string state;
  std::string note;           ///< details; may be empty
  std::uint64_t packets = 0;  ///< of its sources
  std::uint64_t lost = 0;     ///< dropped, or failed and skipped
  PartInputs inputs = {};
  std::map<std::string, std::uint64_t> listings = {};  ///< of sources; empty if it is not complete
};

/// How two parts differ; empty if they belong together.
std::string part_difference(const ListedPart& before, const ListedPart& now) {
  if (before.shard.of != now.shard.of) {
    return fmt::format("{} shards (were {})", now.shard.of, before.shard.of);
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

void count_part(const RunFolder& run, ListedPart& part) {
  for (const FlowTotal& flow : run.flows) {
    for (const StageCount& stage : flow.stages) {
      if (stage.kind == StageKind::source) {
        part.packets += stage.emitted;
        part.listings[stage.stage] = stage.listing;  // 0 if the source found nothing
      }
    }
    part.lost += lost_packets(flow);
  }
}

/// Reads the part's state and, if it is complete, its files.
void read_state(ListedPart& part) {
  try {
    const RunFolder run = read_run(part.run, part.run.filename().string());
    part.state = state_text(run.state);
    part.note = run.note;
    if (run.state != RunState::complete) return;
    count_part(run, part);
    part.note = damage_of(part.run);
    if (!part.note.empty()) part.state = "damaged";
  } catch (const Error& error) {
    part.state = "damaged";
    part.note = error.full_message();
  }
}

std::vector<ListedPart> found_in(const fs::path& out) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    if (is_run_folder(entry.path())) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  std::vector<ListedPart> found;
  for (const fs::path& folder : folders) {
    const std::optional<Shard> shard = recorded_shard(folder);
    if (!shard) continue;
    ListedPart& part = found.emplace_back();
    part.inputs = read_inputs(folder);
    part.shard = *shard;
    part.run = fs::absolute(folder).lexically_normal();
    read_state(part);
  }
  return found;
}

/// The first of the largest group of parts that belong together.
const ListedPart& typical(const std::vector<ListedPart>& found) {
  std::vector<std::pair<const ListedPart*, std::size_t>> groups;
  for (const ListedPart& one : found) {
    const auto same = std::ranges::find_if(
        groups, [&](const auto& group) { return part_difference(*group.first, one).empty(); });
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

/// By number. Reads all files of complete parts. Throws seam::Error (configuration) if the folder
/// contains no shards.
std::vector<ListedPart> list_parts(const fs::path& out) {
  if (!fs::is_directory(out)) refuse("there is no folder '{}'", out.string());
  std::vector<ListedPart> parts = found_in(out);
  if (parts.empty()) {
    refuse("'{}' contains no shards; pass the --run-dir of `seam run --shard`", out.string());
  }
  const ListedPart reference = typical(parts);
  std::map<std::uint64_t, fs::path> taken;
  for (ListedPart& part : parts) {
    if (std::string how = part_difference(reference, part); !how.empty()) {
      part.state = "different";
      part.note = std::move(how);
    } else if (const auto [first, is_new] = taken.emplace(part.shard.number, part.run); !is_new) {
      part.state = "doubled";
      part.note = "also in '" + first->second.string() + "'";
    }
  }
  const Shard all = reference.shard;
  for (std::uint64_t number = 0; number < all.of; ++number) {
    if (taken.contains(number)) continue;
    ListedPart& missing = parts.emplace_back();
    missing.shard = {number, all.of};
    missing.state = "missing";
  }
  std::ranges::stable_sort(parts, {}, [](const ListedPart& part) { return part.shard.number; });
  return parts;
}

/// "8 of 8 shards are complete: 1,234 packets, 3 of them dropped or skipped"
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

Json shard_json(const ListedPart& part) {
  return {{"shard", to_text(part.shard)}, {"state", part.state},     {"note", part.note},
          {"run", part.run.string()},     {"packets", part.packets}, {"lost", part.lost}};
}

/// The parts that are not complete.
std::string parts_table(const std::vector<ListedPart>& parts) {
  std::vector<std::vector<std::string>> rows;
  for (const ListedPart& part : parts) {
    if (part.state == "complete") continue;
    rows.push_back({to_text(part.shard), part.state, part.run.filename().string(), part.note});
  }
  if (rows.empty()) return {};
  return table_text({{"shard"}, {"state"}, {"folder"}, {"note", Align::left, Room::flexible}}, rows,
                    terminal_width(STDOUT_FILENO));
}

}  // namespace

ExitCode shards_verb(const ShardsArguments& arguments) {
  const std::vector<ListedPart> parts = list_parts(arguments.folder);
  const bool complete =
      std::ranges::all_of(parts, [](const ListedPart& part) { return part.state == "complete"; });
  if (arguments.json) {
    std::cout << json_line({{"complete", complete}, {"shards", list_json(parts, shard_json)}})
              << "\n";
  } else {
    std::cout << parts_table(parts);
  }
  if (!complete) {
    return report_error(Error(
        summary_of(parts) + "; run the missing, stopped, failed and interrupted shards again; "
                            "remove the folders of the others before that",
        Fault::data));
  }
  if (!arguments.json) std::cout << summary_of(parts) << "\n";
  return ExitCode::success;
}

}  // namespace seam::host
