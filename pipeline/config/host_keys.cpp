#include "pipeline/config/host_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/config/parameter_value.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

constexpr double most_threads = 4096;
constexpr double most_concurrency = 4096;
constexpr double most_retries = 100;
constexpr double most_stall_seconds = 1e9;
constexpr double most_epochs = 1e9;
constexpr double least_minutes = 0.01;
constexpr double most_minutes = 1e6;

constexpr const char* error_policies = "\"fail\", \"skip\" or { retry = 3 }";

/// Reads a key's value in one of the forms; whether there was nothing to report.
struct CompoundReader {
  const Entry& entry;
  const std::string& owner;
  Findings& findings;

  bool operator()(const CountOrShare& form) const {
    if (const auto* share = std::get_if<double>(&entry.node.value)) {
      if (*share > 0 && *share < 1) {
        *form.share = *share;
        form.count->reset();
        return true;
      }
      findings.error("range", entry.node.place,
                     fmt::format("'{}' of {} takes a number of packets, or a share of them "
                                 "between 0 and 1, not {}",
                                 entry.key, owner, seam::to_text(Value{*share})));
      return false;
    }
    const auto count = read_integer(entry, owner, 0, findings);
    if (!count) return false;
    *form.count = *count;
    form.share->reset();
    return true;
  }

  bool operator()(const ErrorPolicy& form) const {
    const std::string accepted = fmt::format("'{}' is {}", entry.key, error_policies);
    if (const std::string* text = entry.node.text()) {
      if (*text != "fail" && *text != "skip") {
        findings.error("choice", entry.node.place, fmt::format("{}, not \"{}\"", accepted, *text),
                       {did_you_mean(*text, {"fail", "skip"})});
        return false;
      }
      *form.policy = *text == "skip" ? OnError::skip : OnError::fail;
      *form.retries = 0;
      return true;
    }
    const Table* table = entry.node.table();
    if (table == nullptr || table->entries.empty()) {
      findings.error("type", entry.node.place, accepted + ", not " + kind_of(entry.node));
      return false;
    }
    int retries = 0;
    if (!read_inner(retry_table(retries), *table)) return false;
    *form.policy = OnError::retry;
    *form.retries = retries;
    return true;
  }

  bool operator()(const FlowTurns& form) const {
    const Array single{entry.node};  // a single one needs no brackets
    std::vector<ScheduledFlow> turns;
    bool sound = true;
    for (const Node& element : entry.node.array() != nullptr ? *entry.node.array() : single) {
      if (element.broken) {
        sound = false;
      } else if (const std::string* flow = element.text()) {
        turns.push_back({*flow, 1});
      } else if (const Table* table = element.table()) {
        ScheduledFlow turn;
        const HostTable keys = turn_table(turn);
        sound = read_inner(keys, *table) && sound;
        if (table->find("flow") == nullptr) {
          findings.error("missing-key", element.place, keys.name() + " has no 'flow'");
          sound = false;
        }
        turns.push_back(std::move(turn));
      } else {
        findings.error("type", element.place,
                       fmt::format("'{}' of {} lists flows, \"train\" or {{ flow = \"evaluate\", "
                                   "every = 5 }}, not {}",
                                   entry.key, owner, kind_of(element)));
        sound = false;
      }
    }
    if (sound) *form.turns = std::move(turns);
    return sound;
  }

  bool operator()(const StopRule& form) const {
    // What a file that extends another says to have none.
    if (const bool* given = std::get_if<bool>(&entry.node.value); given != nullptr && !*given) {
      form.rule->reset();
      return true;
    }
    const Table* table = read_table(entry, "'" + entry.key + "'", findings);
    if (table == nullptr) return false;
    StopEarly rule;
    bool sound = read_inner(stop_early_table(rule), *table);
    if (table->find("metric") == nullptr) {
      findings.error("missing-key", entry.key_place, fmt::format("'{}' has no 'metric'", entry.key),
                     {"write { metric = \"STAGE.METRIC\", patience = 7 }"});
      sound = false;
    }
    if (sound) *form.rule = std::move(rule);
    return sound;
  }

  bool operator()(const CheckpointRule& form) const {
    CheckpointEvery rule;
    if (std::holds_alternative<std::int64_t>(entry.node.value)) {
      const auto epochs = read_integer(entry, owner, 1, findings);
      if (!epochs) return false;
      rule.epochs = *epochs;
    } else {
      const Table* table = entry.node.table();
      if (table == nullptr || table->entries.empty()) {
        findings.error("type", entry.node.place,
                       fmt::format("'{}' of {} takes a number of epochs, or {{ steps = 500 }} or "
                                   "{{ minutes = 10 }}, not {}",
                                   entry.key, owner, kind_of(entry.node)));
        return false;
      }
      if (!read_inner(checkpoint_table(rule), *table)) return false;
    }
    *form.rule = rule;
    return true;
  }

  bool operator()(const EventFileRule& form) const {
    if (const bool* given = std::get_if<bool>(&entry.node.value)) {
      form.rule->reset();
      if (*given) form.rule->emplace();
      return true;
    }
    const Table* table = entry.node.table();
    if (table == nullptr || table->entries.empty()) {
      findings.error(
          "type", entry.node.place,
          fmt::format("'{}' of {} takes true, false or {{ histograms = [\"model.*\"] }}, "
                      "not {}",
                      entry.key, owner, kind_of(entry.node)));
      return false;
    }
    TensorBoardSpec rule;
    if (!read_inner(tensorboard_table(rule), *table)) return false;
    *form.rule = std::move(rule);
    return true;
  }

  bool operator()(const KeptCheckpoints& form) const {
    KeepRule rule;
    if (std::holds_alternative<std::int64_t>(entry.node.value)) {
      const auto last = read_integer(entry, owner, 1, findings);
      if (!last) return false;
      rule.last = *last;
    } else {
      const Table* table = entry.node.table();
      if (table == nullptr || table->entries.empty()) {
        findings.error("type", entry.node.place,
                       fmt::format("'{}' of {} takes a number of checkpoints, or {{ best = "
                                   "\"STAGE.METRIC\", last = 2 }}, not {}",
                                   entry.key, owner, kind_of(entry.node)));
        return false;
      }
      if (!read_inner(keep_table(rule), *table)) return false;
    }
    *form.rule = std::move(rule);
    return true;
  }

 private:
  [[nodiscard]] bool read_inner(const HostTable& keys, const Table& table) const {
    const std::size_t before = findings.errors();
    read_keys(keys, table, findings);
    const bool broken =
        std::ranges::any_of(table.entries, [](const Entry& key) { return key.node.broken; });
    return findings.errors() == before && !broken;
  }
};

/// "{ flow = "evaluate", every = 5 }"
std::string inline_table(const HostTable& host) {
  std::string text;
  for (const ParameterInfo& key : host.keys()) {
    if (!key.default_value) continue;
    text += (text.empty() ? "" : ", ") + key.name + " = " + written(*key.default_value);
  }
  return "{ " + text + " }";
}

/// As it stands in a file; empty where nothing is set.
struct CompoundWriter {
  std::string operator()(const CountOrShare& form) const {
    if (*form.count) return written(Value{**form.count});
    if (*form.share) return written(Value{**form.share});
    return {};
  }
  std::string operator()(const ErrorPolicy& form) const {
    switch (*form.policy) {
      case OnError::fail:
        return "\"fail\"";
      case OnError::skip:
        return "\"skip\"";
      case OnError::retry:
        break;
    }
    return inline_table(retry_table(*form.retries));
  }
  std::string operator()(const FlowTurns& form) const {
    std::string text;
    for (ScheduledFlow& turn : *form.turns) {
      if (!text.empty()) text += ", ";
      text += turn.every == 1 ? written(Value{turn.flow}) : inline_table(turn_table(turn));
    }
    return "[" + text + "]";
  }
  std::string operator()(const StopRule& form) const {
    return *form.rule ? inline_table(stop_early_table(**form.rule)) : std::string();
  }
  std::string operator()(const CheckpointRule& form) const {
    const bool plain = !form.rule->steps && !form.rule->minutes;
    return plain ? written(Value{form.rule->epochs}) : inline_table(checkpoint_table(*form.rule));
  }
  std::string operator()(const EventFileRule& form) const {
    if (!*form.rule) return {};
    return (*form.rule)->histograms.empty() ? "true" : inline_table(tensorboard_table(**form.rule));
  }
  std::string operator()(const KeptCheckpoints& form) const {
    const bool plain = form.rule->best.empty();
    return plain ? written(Value{form.rule->last}) : inline_table(keep_table(*form.rule));
  }
};

std::string written_key(const HostTable& host, const ParameterInfo& key) {
  if (const CompoundForm* form = host.compound(key.name)) {
    return std::visit(CompoundWriter{}, *form);
  }
  return key.default_value ? written(*key.default_value) : std::string();
}

}  // namespace

void HostTable::key(std::string name, CompoundForm form, std::string doc) {
  ParameterInfo& info = declaration_.description().parameters.emplace_back();
  info.name = std::move(name);
  info.doc = std::move(doc);
  compounds_.emplace(info.name, form);
}

const ParameterInfo* HostTable::find(std::string_view key) const {
  const auto found = std::ranges::find(keys(), key, &ParameterInfo::name);
  return found == keys().end() ? nullptr : &*found;
}

std::vector<std::string> HostTable::names() const {
  std::vector<std::string> names;
  for (const ParameterInfo& key : keys()) names.push_back(key.name);
  return names;
}

const CompoundForm* HostTable::compound(const std::string& key) const {
  const auto found = compounds_.find(key);
  return found == compounds_.end() ? nullptr : &found->second;
}

const std::string* HostTable::default_text(const std::string& key) const {
  const auto found = defaults_.find(key);
  return found == defaults_.end() ? nullptr : &found->second;
}

// The structured bindings below name every member: a new one does not compile until somebody has
// thought of its key.

HostTable pipeline_table(PipelineSpec& spec) {
  auto& [file, name, seed, threads, device, precision, deterministic, max_errors, max_error_share,
         plugin_paths, tensorboard, limits, stages, paths, flows, schedule, resolved] = spec;
  HostTable table("[pipeline]", "The run as a whole.");
  table.key("name", name, "names the run's folder and its reports");
  table.default_is("the file's name");
  table.key("seed", seed, "seed of all random numbers");
  table
      .key("threads", threads,
           "the thread limit that TBB, OpenMP, LibTorch, OpenCV and BLAS share; `--threads` "
           "overrides it")
      .range(1, most_threads);
  table.default_is("the available cores");
  table.key("device", device,
            "device of the stages on the compute thread: `\"cpu\"`, `\"cuda\"` (the first GPU), "
            "`\"cuda:1\"`, or `\"auto\"`: the first GPU if there is one. A device that does not "
            "exist is an error before anything is opened");
  table.key<Precision>(
      "precision", precision,
      "floating-point precision, unless a stage sets its own. With bfloat16, operations that "
      "benefit from it compute in bfloat16; weights, losses and everything stored stay float32",
      {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}});
  table.key("deterministic", deterministic,
            "use only operations that give the same bits each time; one without a deterministic "
            "implementation is reported by name. `false` may be faster on a GPU");
  table.key("max_errors", CountOrShare{&max_errors, &max_error_share},
            "how many packets may be skipped in the whole run, such as 20: one more ends it; or a "
            "share, such as 0.01, of the packets that a stage receives in a flow, checked when the "
            "flow has ended");
  table.default_is("no limit");
  table.key("plugins", plugin_paths,
            "plugin files or folders, relative to this file; `SEAM_PLUGIN_PATH` and Seam's own "
            "folder are searched as well. Two plugins that offer the same stage are an error");
  table.key(
      "tensorboard", EventFileRule{&tensorboard},
      "`true`: the run also writes its metrics and pictures as a TensorBoard event file into "
      "its folder. `{ histograms = [\"model.*\"] }` adds histograms of the weights that match "
      "STAGE.TENSOR, with each checkpoint after an epoch");
  table.default_is("`false`");
  return table;
}

HostTable limits_table(LimitSpec& limits) {
  auto& [packets, bytes, stall_seconds] = limits;
  HostTable table("[limits]", "How much may be in flight in a flow.");
  table.key("packets", packets, "packets in flight at once; at the limit, sources wait")
      .at_least(1);
  table
      .key("bytes", bytes,
           "the same in bytes: a number, or a text such as `\"512 MiB\"`. A new packet reserves "
           "what recent packets of the same source or collector needed, and a packet that grows "
           "beyond that is counted at once, so a flow can exceed the limit by what was in flight "
           "when packets became larger. One packet is always admitted, however large")
      .at_least(1)
      .unit(std::string(bytes_unit));
  table.default_is("256 MiB");
  table
      .key("stall_seconds", stall_seconds,
           "warn if no stage of a flow has finished anything for this long, and say what each "
           "stage is doing; 0: never")
      .range(0, most_stall_seconds);
  return table;
}

HostTable schedule_table(ScheduleSpec& schedule) {
  auto& [epochs, before, each_epoch, after, stop_early, checkpoint_every, keep] = schedule;
  HostTable table("[schedule]", "Which flow runs when; without it, every flow runs once.");
  table.key("epochs", epochs, "how often `each_epoch` runs").range(1, most_epochs);
  table.key("before", before, "flows to run once, before the first epoch");
  table.key("each_epoch", FlowTurns{&each_epoch},
            "`\"train\"`, or `{ flow = \"evaluate\", every = 5 }`: in every fifth epoch and in the "
            "last");
  table.default_is("all other flows, in order");
  table.key("after", after, "flows to run once, after the last epoch");
  table.key("stop_early", StopRule{&stop_early},
            "`{ metric = \"recall.none.r@1\", patience = 7, goal = \"highest\" }`: stop after this "
            "many measurements without improvement; `\"lowest\"` for losses. A measurement is the "
            "mean over the flow. `false`: never, even if an extended file sets it");
  table.default_is("never");
  table.key("checkpoint_every", CheckpointRule{&checkpoint_every},
            "epochs between two checkpoints; `{ steps = 500 }` and `{ minutes = 10 }` also write "
            "checkpoints within training flows, after the next complete step");
  table.key("keep", KeptCheckpoints{&keep},
            "how many checkpoints of whole epochs are kept: the newest; with `{ best = "
            "\"recall.none.r@1\", last = 2 }` also the best by a headline of a stage, such as a "
            "recall or a loss. With `stop_early` and without `best`, the best is the one that it "
            "measured");
  return table;
}

HostTable stage_table(StageSpec& stage) {
  auto& [name, use, like, place, values, references, on_error, retries, concurrency] = stage;
  HostTable table("[stage.NAME]", "A stage: a name of your choice, and its type.");
  table.key("use", use, "the stage's type, `FAMILY.NAME`; `seam plugins` lists them");
  table.is_required();
  table.default_is("required, or `like`");
  table.key("like", like,
            "another stage of the file, from which this one takes `use` and all keys that it does "
            "not set itself");
  table.default_is("none");
  table.is_shorthand();
  table.key(
      "on_error", ErrorPolicy{&on_error, &retries},
      "what happens if the stage fails on a packet: `\"fail\"`: the run ends; `\"skip\"`: the "
      "packet is left out, counted and listed in `skipped.jsonl`; `{ retry = 3 }`: it is "
      "tried again first. A source takes only `\"fail\"`, and a collector cannot retry");
  table.default_is("`\"fail\"`");
  table.key("concurrency", concurrency, "how many packets a parallel stage may process at once")
      .range(1, most_concurrency);
  table.default_is("the thread limit");
  return table;
}

HostTable turn_table(ScheduledFlow& turn) {
  auto& [flow, every] = turn;
  HostTable table("an entry of 'each_epoch'", "A flow that does not run in every epoch.");
  table.key("flow", flow, "the flow's name");
  table.is_required();
  table.key("every", every, "5: in every fifth epoch and in the last").range(1, most_epochs);
  return table;
}

HostTable stop_early_table(StopEarly& rule) {
  auto& [metric, patience, goal] = rule;
  HostTable table("'stop_early'",
                  "Stops the run after this many measurements without improvement.");
  table.key("metric", metric, "STAGE.METRIC, such as \"recall.none.r@1\"");
  table.is_required();
  table.key("patience", patience, "measurements without improvement").range(1, most_epochs);
  table.key<Goal>("goal", goal, "which values are better",
                  {{"highest", Goal::highest}, {"lowest", Goal::lowest}});
  return table;
}

HostTable checkpoint_table(CheckpointEvery& rule) {
  auto& [epochs, steps, minutes] = rule;
  HostTable table("'checkpoint_every'", "How often a checkpoint is written.");
  table.key("epochs", epochs, "epochs between two checkpoints").range(1, most_epochs);
  table.key("steps", steps, "steps of a training flow between two checkpoints").at_least(1);
  table
      .key("minutes", minutes,
           "minutes between two checkpoints; they are written between two steps of a training flow")
      .range(least_minutes, most_minutes);
  return table;
}

HostTable tensorboard_table(TensorBoardSpec& rule) {
  auto& [histograms] = rule;
  HostTable table("'tensorboard'", "What an event file for TensorBoard holds besides metrics.");
  table.key("histograms", histograms,
            "weights to draw, STAGE.TENSOR with `*` for any characters and `?` for one");
  return table;
}

HostTable keep_table(KeepRule& rule) {
  auto& [best, last, better] = rule;
  HostTable table("'keep'", "Which checkpoints of whole epochs are kept.");
  table.key("best", best,
            "STAGE.METRIC, such as \"recall.none.r@1\" or \"triplet_loss.loss\": the checkpoint of "
            "the epoch with its best mean is kept as well");
  table.key("last", last, "how many of the newest are kept").range(1, most_epochs);
  return table;
}

HostTable retry_table(int& retries) {
  HostTable table("'on_error'", "");
  table.key("retry", retries, "how often a packet is tried again").range(1, most_retries);
  return table;
}

void read_keys(const HostTable& host, const Table& table, Findings& findings) {
  refuse_unknown_keys(table, host.name(), host.names(), findings);
  for (const Entry& entry : table.entries) {
    if (host.find(entry.key) != nullptr) read_key(host, entry, host.name(), findings);
  }
}

bool read_key(const HostTable& host, const Entry& entry, const std::string& owner,
              Findings& findings) {
  if (entry.node.broken) return false;
  if (const CompoundForm* form = host.compound(entry.key)) {
    return std::visit(CompoundReader{entry, owner, findings}, *form);
  }
  const ParameterInfo& key = *host.find(entry.key);
  if (key.unit == bytes_unit) {
    const auto bytes = read_bytes(entry, owner, findings);
    if (bytes) key.assign(Value{*bytes});
    return bytes.has_value();
  }
  const auto value = read_parameter_value(entry, key, owner, findings);
  if (value) key.assign(*value);
  return value.has_value();
}

std::string written_keys(const HostTable& host, const HostTable& defaults) {
  std::string text;
  for (const ParameterInfo& key : host.keys()) {
    if (host.is_shorthand(key.name)) continue;
    const std::string value = written_key(host, key);
    if (value.empty()) {
      text += fmt::format("# {}: not set\n", key.name);
    } else {
      const bool is_default = value == written_key(defaults, *defaults.find(key.name));
      text += fmt::format("{} = {}{}\n", key.name, value, is_default ? "  # default" : "");
    }
  }
  return text;
}

std::string written(const Value& value) {
  std::string text;
  for (const char c : seam::to_text(value)) {
    text += c;
    if (c == '$') text += c;
  }
  return text;
}

std::string keys_markdown(const HostTable& host) {
  std::string text = "| key | default | |\n|---|---|---|\n";
  for (const ParameterInfo& key : host.keys()) {
    const std::string value = written_key(host, key);
    const std::string* said = host.default_text(key.name);
    const std::string shown = said != nullptr ? *said
                              : key.required  ? "required"
                              : value.empty() ? "not set"
                                              : "`" + value + "`";
    text += fmt::format("| `{}` | {} | {} |\n", key.name, shown, key.doc);
  }
  return text;
}

}  // namespace seam::host
