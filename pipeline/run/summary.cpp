#include "pipeline/run/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/run/clock.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/table.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {
namespace {

void add_count(StageCount& total, const StageCount& count) {
  total.received += count.received;
  total.delivered += count.delivered;
  total.emitted += count.emitted;
  total.failed += count.failed;
  total.discarded += count.discarded;
  for (const auto& [reason, number] : count.dropped) total.dropped[reason] += number;
  total.busy_seconds += count.busy_seconds;
  total.backward_seconds += count.backward_seconds;
  total.memory.add(count.memory);
  total.packet_times.add(count.packet_times);
  total.waiting_most = std::max(total.waiting_most, count.waiting_most);
  total.listing = count.listing;
}

std::string drops_text(const RunSummary& summary) {
  std::string text;
  for (const FlowTotal& flow : summary.flows) {
    for (const StageCount& stage : flow.stages) {
      for (const auto& [reason, number] : stage.dropped) {
        text += fmt::format("dropped by {} in {}: {} ({})\n", stage.stage, flow.flow,
                            count_text(number), reason);
      }
    }
  }
  return text;
}

/// The brief text omits stalls that are too short to matter.
std::string data_stall_text(const RunSummary& summary, Timing timing) {
  constexpr double slight = 0.05;   // of the flow's time
  constexpr double short_wait = 1;  // seconds
  std::string text;
  for (const FlowTotal& flow : summary.flows) {
    if (flow.compute_idle_seconds <= 0 || flow.seconds <= 0) continue;
    if (timing == Timing::brief && (flow.compute_idle_seconds < slight * flow.seconds ||
                                    flow.compute_idle_seconds < short_wait)) {
      continue;
    }
    text += fmt::format("data stall in {}: the compute thread waited {} for packets, {:.0f} %\n",
                        flow.flow, duration_text(flow.compute_idle_seconds),
                        100 * flow.compute_idle_seconds / flow.seconds);
  }
  return text;
}

/// The most memory of each flow's tensors, and the stage that keeps most of it for later calls.
std::string memory_text(const RunSummary& summary) {
  std::string text;
  for (const FlowTotal& flow : summary.flows) {
    const auto most_of = [&](std::uint64_t CallMemory::*bytes) {
      return std::ranges::max_element(
          flow.stages, {}, [bytes](const StageCount& stage) { return stage.memory.*bytes; });
    };
    const auto largest = most_of(&CallMemory::in_use);
    if (largest == flow.stages.end() || largest->memory.in_use == 0) continue;
    text += fmt::format("memory in {}: at most {} of tensors, in a call of {}", flow.flow,
                        mebibytes_text(largest->memory.in_use), largest->stage);
    const auto keeps = most_of(&CallMemory::kept);
    if (keeps->memory.kept > 0) {
      text += fmt::format("; {} keeps {}", keeps->stage, mebibytes_text(keeps->memory.kept));
    }
    text += '\n';
  }
  return text;
}

/// Warns of stages that failed on all packets, which does not end a run with `on_error = "skip"`.
std::string useless_stages_text(const RunSummary& summary) {
  std::string text;
  if (summary.error) return text;
  for (const FlowTotal& flow : summary.flows) {
    for (const StageCount& stage : flow.stages) {
      if (stage.received < 2 || stage.failed < stage.received) continue;
      text += fmt::format(
          "warning: stage '{}' failed on all of its {} packets in {}; the run continued because of "
          "`on_error`; to end such runs, set `max_errors` in [pipeline]\n",
          stage.stage, count_text(stage.received), flow.flow);
    }
  }
  return text;
}

std::string ledger_text(const RunSummary& summary) {
  if (summary.imbalances.empty()) {
    if (summary.flows.empty()) return "";
    std::uint64_t discarded = 0;
    for (const FlowTotal& flow : summary.flows) {
      for (const StageCount& stage : flow.stages) discarded += stage.discarded;
    }
    if (discarded == 0) return "ledger: every packet is accounted for\n";
    return fmt::format(
        "ledger: every packet is accounted for; {} in flight were discarded when the "
        "run ended\n",
        count_text(discarded));
  }
  std::string text = "ledger: does not balance\n";
  for (const std::string& sentence : summary.imbalances) text += "  " + sentence + "\n";
  return text;
}

Json stage_json(const StageCount& count, const FlowTotal& flow) {
  Json json{{"stage", count.stage},
            {"source", count.kind == StageKind::source},
            {"received", count.received},
            {"delivered", count.delivered},
            {"emitted", count.emitted},
            {"failed", count.failed},
            {"discarded", count.discarded},
            {"dropped", count.dropped},
            {"busy_seconds", count.busy_seconds},
            {"backward_seconds", count.backward_seconds},
            {"share_of_wall_time", share_of_wall(count, flow)},
            {"queue_peak", count.waiting_most}};
  if (count.listing != 0) json["listing"] = fmt::format("{:016x}", count.listing);
  if (count.memory.in_use > 0) {
    json["tensor_bytes_peak"] = count.memory.peak;
    json["tensor_bytes_kept"] = count.memory.kept;
    json["tensor_bytes_in_use"] = count.memory.in_use;
  }
  if (!count.packet_times.empty()) {
    json["packet_p50_seconds"] = count.packet_times.percentile(0.5);
    json["packet_p99_seconds"] = count.packet_times.percentile(0.99);
  }
  return json;
}

Json flow_json(const FlowTotal& flow) {
  Json stages =
      list_json(flow.stages, [&flow](const StageCount& stage) { return stage_json(stage, flow); });
  return {{"flow", flow.flow},
          {"times", flow.times},
          {"seconds", flow.seconds},
          {"compute_idle_seconds", flow.compute_idle_seconds},
          {"packets_peak", flow.packets_peak},
          {"bytes_peak", flow.bytes_peak},
          {"stages", std::move(stages)}};
}

StageCount read_stage(const Json& stage) {
  StageCount count;
  count.stage = stage.at("stage").get<std::string>();
  if (stage.at("source").get<bool>()) count.kind = StageKind::source;
  count.received = stage.at("received").get<std::uint64_t>();
  count.delivered = stage.at("delivered").get<std::uint64_t>();
  count.emitted = stage.at("emitted").get<std::uint64_t>();
  count.failed = stage.at("failed").get<std::uint64_t>();
  count.busy_seconds = stage.at("busy_seconds").get<double>();
  count.backward_seconds = stage.value("backward_seconds", 0.0);  // unknown in earlier versions
  const auto bytes = [&](const char* key) { return stage.value(key, std::uint64_t{0}); };
  count.memory = {bytes("tensor_bytes_peak"), bytes("tensor_bytes_kept"),
                  bytes("tensor_bytes_in_use")};
  count.waiting_most = stage.at("queue_peak").get<std::uint64_t>();
  const std::string listing = stage.value("listing", std::string());
  count.listing = number_in<std::uint64_t>(listing, 16).value_or(0);
  for (const auto& [reason, number] : stage.at("dropped").items()) {
    count.dropped[reason] = number.get<std::uint64_t>();
  }
  return count;
}

FlowTotal read_flow(const Json& flow) {
  FlowTotal total;
  total.flow = flow.at("flow").get<std::string>();
  total.times = flow.at("times").get<std::uint64_t>();
  total.seconds = flow.at("seconds").get<double>();
  total.compute_idle_seconds = flow.at("compute_idle_seconds").get<double>();
  total.stages = mapped(flow.at("stages"), read_stage);
  return total;
}

std::string wall_text(const StageCount& stage, const FlowTotal& flow) {
  return fmt::format("{:.0f} %", 100 * share_of_wall(stage, flow));
}

/// A percentile of the time per packet; empty for a source, which receives no packets.
std::string percentile_text(const StageCount& stage, double share) {
  if (stage.packet_times.empty()) return "";
  const double milliseconds = 1e3 * stage.packet_times.percentile(share);
  return milliseconds < 99.5 ? fmt::format("{:.2g} ms", milliseconds)
                             : fmt::format("{:.0f} ms", milliseconds);
}

/// The percentage of the stage's time; empty for a stage without gradients.
std::string backward_text(const StageCount& stage) {
  if (stage.backward_seconds <= 0) return "";
  return fmt::format("{:.0f} %", 100 * stage.backward_seconds / seconds_of(stage));
}

/// Empty if there are none.
std::string bytes_text(std::uint64_t bytes) {
  return bytes == 0 ? std::string() : mebibytes_text(bytes);
}

/// Removes a column that has only a title.
void drop_if_empty(std::vector<std::vector<std::string>>& rows, std::size_t column) {
  const bool empty = std::ranges::all_of(rows.begin() + 1, rows.end(),
                                         [&](const auto& row) { return row[column].empty(); });
  if (empty) {
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

std::string whole_table(const RunSummary& summary) {
  std::vector<std::vector<std::string>> rows{{"flow", "stage", "packets", "dropped", "failed",
                                              "time", "backward", "of wall", "p50", "p99", "queue",
                                              "memory", "kept"}};
  for (const FlowTotal& flow : summary.flows) {
    for (const StageCount& stage : flow.stages) {
      rows.push_back({flow.flow, stage.stage, count_text(packets_of(stage)),
                      count_text(stage.dropped_total()), count_text(stage.failed),
                      duration_text(seconds_of(stage)), backward_text(stage),
                      wall_text(stage, flow), percentile_text(stage, 0.5),
                      percentile_text(stage, 0.99), count_text(stage.waiting_most),
                      bytes_text(stage.memory.peak), bytes_text(stage.memory.kept)});
    }
  }
  if (rows.size() == 1) return {};
  for (const std::size_t column : {12U, 11U, 6U}) drop_if_empty(rows, column);  // from the right
  std::vector<Align> aligns(rows.front().size(), Align::right);
  aligns[0] = aligns[1] = Align::left;
  return "\n" + columns(rows, aligns);
}

/// The stages that took the most time; the first of the flow that took the longest is the
/// bottleneck of the run.
std::string brief_table(const RunSummary& summary) {
  constexpr std::size_t most = 4;
  struct Row {
    const FlowTotal* flow = nullptr;
    const StageCount* stage = nullptr;
  };
  std::vector<Row> all;
  for (const FlowTotal& flow : summary.flows) {
    for (const StageCount& stage : flow.stages) all.push_back({&flow, &stage});
  }
  if (all.empty()) return {};
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const Row& row) { return seconds_of(*row.stage); });
  const auto longest = std::ranges::max_element(summary.flows, {}, &FlowTotal::seconds);
  const auto slowest =
      std::ranges::find_if(all, [&](const Row& row) { return row.flow == &*longest; });
  std::vector<std::vector<std::string>> rows{
      {"flow", "stage", "time", "of wall", "backward", "memory", ""}};
  for (auto row = all.begin(); row != all.end() && rows.size() <= most; ++row) {
    rows.push_back({row->flow->flow, row->stage->stage, duration_text(seconds_of(*row->stage)),
                    wall_text(*row->stage, *row->flow), backward_text(*row->stage),
                    bytes_text(row->stage->memory.peak), row == slowest ? "bottleneck" : ""});
  }
  for (const std::size_t column : {5U, 4U}) drop_if_empty(rows, column);  // from the right
  std::vector<Align> aligns(rows.front().size(), Align::right);
  aligns[0] = aligns[1] = aligns.back() = Align::left;
  std::string text = "\n" + columns(rows, aligns);
  if (all.size() > most) {
    text += fmt::format("the {} slowest of {} stages; --timing shows all\n", most, all.size());
  }
  return text;
}

/// What `read` takes from a summary.json.
auto read_from(const std::filesystem::path& summary, const auto& read) {
  try {
    return read(parse_json(read_text_file(summary)));
  } catch (const Json::exception& error) {
    throw Error("'" + summary.string() + "' is not a valid summary.json: " + error.what(),
                Fault::data);
  }
}

}  // namespace

std::uint64_t lost_packets(const FlowTotal& flow) {
  std::uint64_t lost = 0;
  for (const StageCount& stage : flow.stages) lost += stage.failed + stage.dropped_total();
  return lost;
}

std::uint64_t packets_of(const StageCount& count) {
  return count.kind == StageKind::source ? count.emitted : count.received;
}

double seconds_of(const StageCount& count) {
  return count.busy_seconds + count.backward_seconds;
}

double share_of_wall(const StageCount& count, const FlowTotal& flow) {
  return flow.seconds > 0 ? seconds_of(count) / flow.seconds : 0;
}

void FlowTotal::add(const FlowResult& result) {
  ++times;
  seconds += result.seconds;
  compute_idle_seconds += result.compute_idle_seconds;
  packets_peak = std::max(packets_peak, result.packets_peak);
  bytes_peak = std::max(bytes_peak, result.bytes_peak);
  for (const StageCount& count : result.stages) {
    if (StageCount* found = find_in(stages, count.stage, &StageCount::stage)) {
      add_count(*found, count);
    } else {
      stages.push_back(count);
    }
  }
}

std::string outcome_text(ExitCode code) {
  switch (code) {
    case ExitCode::success:
      return "success";
    case ExitCode::configuration:
      return "configuration error";
    case ExitCode::data:
      return "data error";
    case ExitCode::cancelled:
      return "cancelled";
    case ExitCode::internal:
      return "internal error";
    case ExitCode::incomplete:
      return "incomplete";
  }
  return "";
}

std::vector<FlowTotal> read_flows(const std::filesystem::path& summary) {
  return read_from(summary, [](const Json& root) { return mapped(root.at("flows"), read_flow); });
}

Listings read_listings(const std::filesystem::path& summary) {
  return read_from(summary,
                   [](const Json& root) { return listings_from(json_line(root.at("listings"))); });
}

std::string to_table(const RunSummary& summary, Timing timing) {
  std::string text = timing == Timing::whole ? whole_table(summary) : brief_table(summary);
  text += memory_text(summary) + data_stall_text(summary, timing) + drops_text(summary);
  if (summary.skipped_packets > 0) {
    text += fmt::format("skipped: {} failed; see skipped.jsonl\n",
                        packets_text(summary.skipped_packets));
  }
  return text + useless_stages_text(summary) + ledger_text(summary);
}

std::string to_json(const RunSummary& summary, const PipelineSpec& pipeline) {
  Json json{{"pipeline", pipeline.name},
            {"variants", pipeline.chosen.variants},
            {"run_directory", summary.run_directory.string()},
            {"outcome", outcome_text(summary.code)},
            {"exit_code", static_cast<int>(summary.code)},
            {"complete", summary.complete},
            {"shard", summary.shard},
            {"inputs", summary.inputs},
            {"listings", parse_json(text_of(summary.listings))},
            {"files", summary.files},
            {"traceparent", summary.traceparent},
            {"error", summary.error ? summary.error->full_message() : std::string()},
            {"device", summary.numerics.device},
            {"precision", precision_name(summary.numerics.precision)},
            {"deterministic", summary.numerics.deterministic},
            {"epochs_done", summary.position.epochs_done},
            {"epochs", pipeline.schedule.epochs},
            {"flows_done", summary.position.flows_done},
            {"steps_done", summary.steps_done},
            {"stopped_early", summary.position.stopped_early}};
  if (summary.position.best) {
    json["best"] = *summary.position.best;
    json["best_epochs"] = summary.position.best_epochs;
  }
  json["skipped_packets"] = summary.skipped_packets;
  json["ledger"] = summary.imbalances;
  json["seconds"] = summary.seconds;
  json["metrics"] = summary.metrics;
  json["flows"] = list_json(summary.flows, flow_json);
  return json_line(json) + "\n";
}

}  // namespace seam::host
