#include "pipeline/config/resolved.hpp"

#include <fmt/format.h>

#include <optional>
#include <seam/declaration.hpp>

namespace seam::host {
namespace {

/// A TOML text. A dollar sign is doubled, or it would be read as a variable.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '$') {
      result += "$$";
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string result = "[";
  for (const std::string& text : texts) result += (result.size() > 1 ? ", " : "") + quoted(text);
  return result + "]";
}

std::string written(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return quoted_list(*texts);
  return seam::to_text(value);
}

std::string each_epoch(const std::vector<ScheduledFlow>& flows) {
  std::string result = "[";
  for (const ScheduledFlow& flow : flows) {
    if (result.size() > 1) result += ", ";
    result += flow.every == 1
                  ? quoted(flow.flow)
                  : fmt::format("{{ flow = {}, every = {} }}", quoted(flow.flow), flow.every);
  }
  return result + "]";
}

std::string parameter_line(const ParameterInfo& parameter, const StageSpec& spec) {
  const auto reference = spec.references.find(parameter.name);
  if (reference != spec.references.end()) {
    return fmt::format("{} = {}\n", parameter.name, quoted(reference->second));
  }
  const auto set = spec.values.find(parameter.name);
  if (set != spec.values.end() &&
      (!parameter.default_value || written(*parameter.default_value) != written(set->second))) {
    return fmt::format("{} = {}\n", parameter.name, written(set->second));
  }
  if (parameter.default_value) {
    return fmt::format("{} = {}  # default\n", parameter.name, written(*parameter.default_value));
  }
  return fmt::format("# {}: not set\n", parameter.name);
}

std::string stage_table(const StageDraft& stage) {
  const StageSpec& spec = stage.spec;
  std::string text = fmt::format("\n[stage.{}]\nuse = {}\n", spec.name, quoted(spec.use));
  switch (spec.on_error) {
    case OnError::fail:
      text += "on_error = \"fail\"  # default\n";
      break;
    case OnError::skip:
      text += "on_error = \"skip\"\n";
      break;
    case OnError::retry:
      text += fmt::format("on_error = {{ retry = {} }}\n", spec.retries);
      break;
  }
  text += spec.concurrency ? fmt::format("concurrency = {}\n", *spec.concurrency)
                           : "# concurrency: not set\n";
  for (const ParameterInfo& parameter : stage.runner->description().parameters) {
    text += parameter_line(parameter, spec);
  }
  return text;
}

}  // namespace

std::string resolved_text(const PipelineSpec& spec, const std::vector<StageDraft>& stages) {
  std::string text =
      fmt::format("[pipeline]\nname = {}\nseed = {}\n", quoted(spec.name), spec.seed);
  text += spec.threads ? fmt::format("threads = {}\n", *spec.threads) : "# threads: not set\n";
  if (spec.max_errors) {
    text += fmt::format("max_errors = {}\n", *spec.max_errors);
  } else if (spec.max_error_share) {
    text += "max_errors = " + seam::to_text(Value{*spec.max_error_share}) + "\n";
  } else {
    text += "# max_errors: not set\n";
  }
  text += fmt::format("plugins = {}\n", quoted_list(spec.plugin_paths));
  text += fmt::format("\n[limits]\npackets = {}\nbytes = {}\nstall_seconds = {}\n",
                      spec.limits.packets, spec.limits.bytes, spec.limits.stall_seconds);
  for (const StageDraft& stage : stages) text += stage_table(stage);
  text += "\n[flow]\n";
  for (const FlowSpec& flow : spec.flows) {
    text += fmt::format("{} = {}\n", flow.name, quoted(flow.text));
  }
  const ScheduleSpec& schedule = spec.schedule;
  text += fmt::format("\n[schedule]\nepochs = {}\nbefore = {}\neach_epoch = {}\nafter = {}\n",
                      schedule.epochs, quoted_list(schedule.before),
                      each_epoch(schedule.each_epoch), quoted_list(schedule.after));
  if (schedule.stop_early) {
    const StopEarly& rule = *schedule.stop_early;
    text += fmt::format("stop_early = {{ metric = {}, patience = {}, goal = {} }}\n",
                        quoted(rule.metric), rule.patience,
                        quoted(rule.goal == Goal::highest ? "highest" : "lowest"));
  }
  text += fmt::format("checkpoint_every = {}\n", schedule.checkpoint_every);
  return text;
}

}  // namespace seam::host
