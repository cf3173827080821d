#include "pipeline/run/ending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

#include "pipeline/text/count.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/table.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

/// Enough to see two digits of the error: 0.663 ± 0.021.
std::string number_with(double value, const std::optional<double>& error) {
  if (!std::isfinite(value) || !error || *error <= 0) return number_for_people(value);
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(*error))), 0, 8);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string error_text(const std::optional<double>& error) {
  return error ? "± " + (*error > 0 ? number_with(*error, error) : std::string("0"))
               : std::string();
}

/// The epoch that all scores of the epochs are of, if it is one.
std::optional<std::int64_t> common_epoch(const std::vector<Score>& scores) {
  std::optional<std::int64_t> epoch;
  for (const Score& score : scores) {
    if (!score.when.empty()) continue;
    if (epoch && *epoch != score.epoch) return std::nullopt;
    epoch = score.epoch;
  }
  return epoch;
}

/// The columns of the table in addition to metric and value.
struct Shown {
  bool error = false;
  std::vector<std::string> beside;  ///< names of the values to compare with
  bool epoch = false;               ///< of the value
  bool best = false;                ///< and its epoch
  bool protocol = false;
};

std::vector<std::string> head_of(const Shown& shown) {
  std::vector<std::string> head{"metric", "value"};
  if (shown.error) head.emplace_back("std. error");
  head.insert(head.end(), shown.beside.begin(), shown.beside.end());
  if (shown.epoch) head.emplace_back("epoch");
  if (shown.best) head.insert(head.end(), {"best", shown.epoch ? "best epoch" : "epoch"});
  if (shown.protocol) head.emplace_back("protocol");
  return head;
}

std::vector<std::string> row_of(const Score& score, const std::string& metric, const Shown& shown,
                                const ScheduleSpec& schedule, const Screen& screen) {
  const std::string value = number_with(score.value, score.standard_error);
  std::vector<std::string> row{
      metric, painted(screen, std::isfinite(score.value) ? Paint::bold : Paint::red, value)};
  if (shown.error) row.push_back(error_text(score.standard_error));
  for (const std::string& name : shown.beside) {
    const Score::Beside* found = find_in(score.beside, name, &Score::Beside::name);
    row.push_back(found == nullptr ? "" : number_with(found->value, score.standard_error));
  }
  if (shown.epoch) row.push_back(score.when.empty() ? std::to_string(score.epoch + 1) : score.when);
  if (shown.best) {
    const bool in_them = score.best && in_epochs(schedule, score.flow);
    const bool newest = in_them && score.best->epoch == score.epoch;
    const Paint paint = newest ? Paint::green : Paint::plain;
    row.push_back(in_them
                      ? painted(screen, paint, number_with(score.best->value, score.standard_error))
                      : std::string());
    row.push_back(in_them ? painted(screen, paint, std::to_string(score.best->epoch + 1))
                          : std::string());
  }
  if (shown.protocol) row.push_back(score.protocol);
  return row;
}

/// The metric; with its flow if two flows record the same metric.
std::string score_name(const Score& score, const std::vector<Score>& scores) {
  const bool ambiguous = std::ranges::count(scores, score.metric, &Score::metric) > 1;
  return ambiguous ? fmt::format("{} ({})", score.metric, score.flow) : score.metric;
}

std::size_t width_of(const std::string& table) {
  std::size_t width = 0;
  for (const std::string_view line : split(table, '\n')) width = std::max(width, columns_of(line));
  return width;
}

/// Metric names are cut to `longest` characters.
std::string table_of(const std::vector<Score>& scores, const Shown& shown,
                     const ScheduleSpec& schedule, const Screen& screen, std::size_t longest) {
  std::vector<std::string> head = head_of(shown);
  for (std::string& title : head) title = painted(screen, Paint::dim, title);
  std::vector<std::vector<std::string>> rows{std::move(head)};
  for (const Score& score : scores) {
    rows.push_back(
        row_of(score, cut_front(score_name(score, scores), longest), shown, schedule, screen));
  }
  return columns(rows, {});
}

std::string protocols_text(const std::vector<Score>& scores) {
  std::set<std::string> protocols;
  for (const Score& score : scores) {
    if (!score.protocol.empty()) protocols.insert(score.protocol);
  }
  std::string text;
  for (const std::string& protocol : protocols) text += "protocol: " + protocol + "\n";
  return text;
}

/// Names of the values that the scores are compared with, in the order of their first appearance.
std::vector<std::string> beside_of(const std::vector<Score>& scores) {
  std::vector<std::string> names;
  for (const Score& score : scores) {
    for (const Score::Beside& one : score.beside) add_unless_present(names, one.name);
  }
  return names;
}

std::string beside_lines(const std::vector<Score>& scores) {
  std::string text;
  for (const Score& score : scores) {
    if (score.beside.empty()) continue;
    text += "compare " + score_name(score, scores) + " with";
    for (const Score::Beside& one : score.beside) {
      text += fmt::format("{} {} {}", &one == score.beside.data() ? "" : ",", one.name,
                          number_with(one.value, score.standard_error));
    }
    text += "\n";
  }
  return text;
}

/// For the most important score of each flow: a warning if it is not clearly better than the values
/// that it should exceed. The other scores would show the same, and some, such as the recall within
/// the whole gallery, are always 1.
std::string unproven_text(const std::vector<Score>& scores, const Screen& screen) {
  std::string text;
  std::set<std::string> flows;
  for (const Score& score : scores) {
    if (score.when == "before" || score.beside.empty() || !flows.insert(score.flow).second)
      continue;
    std::vector<std::string> names;
    for (const Score::Beside& one : score.beside) {
      if (!is_clearly_better(score, one)) names.push_back(one.name);
    }
    if (names.empty()) continue;
    text += fmt::format("{}: {} is not {} {} by two standard errors\n",
                        painted(screen, Paint::yellow, "warning"), score_name(score, scores),
                        score.better == Better::higher ? "above" : "below", enumerated(names));
  }
  return text;
}

/// For imported weights that were selected by a metric, or may have been: the file, the metric, and
/// the flows whose scores are therefore biased.
std::string selection_text(const std::vector<Score>& scores) {
  struct Told {
    const SelectedWeights* weights = nullptr;
    std::set<std::string> flows;  // that evaluate the images used for the selection
  };
  std::vector<Told> all;
  for (const Score& score : scores) {
    for (const SelectedWeights& weights : score.weights) {
      const auto same = [&](const Told& told) {
        return told.weights->stage == weights.stage && told.weights->file == weights.file &&
               told.weights->metric == weights.metric;
      };
      auto told = std::ranges::find_if(all, same);
      if (told == all.end()) told = all.insert(all.end(), {&weights, {}});
      if (weights.selected_on == SelectedOn::test) told->flows.insert(score.flow);
    }
  }
  std::string text;
  for (const Told& told : all) {
    text += fmt::format("{} started from {},\n", told.weights->stage, told.weights->file);
    text += told.weights->metric.empty() ? "  how it was selected is unknown\n"
                                         : "  the best by " + told.weights->metric + "\n";
    for (const std::string& flow : told.flows) {
      text += fmt::format("  selected on the data of '{}' itself, so the score is biased upwards\n",
                          flow);
    }
  }
  return text;
}

/// The elements of a list of the scores, each once.
template <class T>
std::vector<T> distinct_in(const std::vector<Score>& scores, std::vector<T> Score::*list) {
  std::vector<T> all;
  for (const Score& score : scores) {
    for (const T& one : score.*list) add_unless_present(all, one);
  }
  return all;
}

/// The flows whose scores depend on predictions that are not trained.
std::string untrained_text(const std::vector<Score>& scores) {
  std::string text;
  for (const UntrainedField& one : distinct_in(scores, &Score::untrained)) {
    text += one.flow + " evaluates a guess: " + to_text(one) + "\n";
  }
  return text;
}

/// Returns whether pipelines/embed.toml can use the trained model: it requires this stage and path.
bool can_embed(const RunSummary& summary, const PipelineSpec& spec) {
  return summary.trains && contains(spec.stages, "model", &StageSpec::name) &&
         contains(spec.paths, "prepare", &PathSpec::name);
}

}  // namespace

std::string place_text(const ScheduleSpec& schedule, const SchedulePosition& position,
                       const std::optional<FlowUnderWay>& within) {
  const std::string moment = moment_text(schedule, position, position.epochs_done);
  const std::string epoch =
      moment.starts_with("epoch")
          ? fmt::format("in epoch {} of {}", position.epochs_done + 1, schedule.epochs)
          : fmt::format("{} the epochs", moment);
  if (within) {
    return fmt::format("{}, after step {} of flow '{}'", epoch, within->point.steps, within->flow);
  }
  if (position.flows_done > 0) {
    return fmt::format("{}, after {} of its flows", epoch, position.flows_done);
  }
  return fmt::format("after {} of {} epochs", position.epochs_done, schedule.epochs);
}

std::string score_table(const std::vector<Score>& scores, const ScheduleSpec& schedule,
                        const Screen& screen) {
  if (scores.empty()) return {};
  const std::optional<std::int64_t> epoch = common_epoch(scores);
  Shown shown;
  shown.error = std::ranges::any_of(
      scores, [](const Score& score) { return score.standard_error.has_value(); });
  shown.beside = beside_of(scores);
  shown.best = schedule.epochs > 1 && std::ranges::any_of(scores, [&](const Score& score) {
                 return in_epochs(schedule, score.flow);
               });
  // A run that was stopped may not have measured the trained network yet: the row says so.
  const bool early = contains(scores, "before", &Score::when);
  shown.epoch = early || (schedule.epochs > 1 && !epoch);
  shown.protocol =
      std::ranges::any_of(scores, [](const Score& score) { return !score.protocol.empty(); });
  std::string title = painted(screen, Paint::bold, "score");
  if (schedule.epochs > 1 && !shown.epoch) {
    title += fmt::format(" after epoch {} of {}", *epoch + 1, schedule.epochs);
  }
  std::string table = table_of(scores, shown, schedule, screen, std::string::npos);
  std::string below;
  if (shown.protocol && width_of(table) > screen.width) {
    shown.protocol = false;
    below = protocols_text(scores);
    table = table_of(scores, shown, schedule, screen, std::string::npos);
  }
  if (!shown.beside.empty() && width_of(table) > screen.width) {
    shown.beside.clear();
    below = beside_lines(scores) + below;
    table = table_of(scores, shown, schedule, screen, std::string::npos);
  }
  if (const std::size_t width = width_of(table); width > screen.width) {
    constexpr std::size_t least = 12;
    std::size_t longest = 0;
    for (const Score& score : scores) {
      longest = std::max(longest, columns_of(score_name(score, scores)));
    }
    const std::size_t over = width - screen.width;
    table =
        table_of(scores, shown, schedule, screen, longest > over + least ? longest - over : least);
  }
  return "\n" + title + "\n" + table + below + unproven_text(scores, screen) +
         labels_text(distinct_in(scores, &Score::labels_read)) + untrained_text(scores) +
         selection_text(scores);
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80U ||
           std::string_view("_-./:=@%+,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_path(const fs::path& path, const fs::path& here) {
  const fs::path below = path.lexically_relative(here);
  const bool inside = !below.empty() && *below.begin() != "..";
  return shell_word((inside ? below : path).string());
}

std::string next_text(const RunSummary& summary, const PipelineSpec& spec, const Screen& screen) {
  if (summary.run_directory.empty()) return {};
  std::error_code unknown;
  const fs::path here = fs::current_path(unknown);
  const std::string run = shell_path(summary.run_directory, here);
  const auto line = [&screen](const std::string& what, const std::string& text) {
    return painted(screen, Paint::dim, fmt::format("{:<4}", what)) + "  " + text + "\n";
  };
  std::string text = "\n" + line("run", run);
  // Resuming with the same file would fail in the same way.
  if (summary.code == ExitCode::configuration) return text;
  if (!summary.complete) {
    return text + line("next", painted(screen, Paint::cyan, "seam run --resume " + run));
  }
  text += line("next", painted(screen, Paint::cyan, "seam report " + run));
  const fs::path embed = fs::path("pipelines") / "embed.toml";
  if (!can_embed(summary, spec) || !fs::exists(embed, unknown)) return text;
  // A full path: `extends` is relative to the file.
  const bool below = !run.starts_with('/') && !run.starts_with('\'');
  const std::string variables =
      fmt::format("TRAINED={} PICTURES=FOLDER",
                  below ? "$PWD/" + run : shell_path(summary.run_directory, fs::path()));
  const std::string command = fmt::format("seam run {}", embed.string());
  constexpr std::size_t indent = 6;
  const bool fits = indent + variables.size() + 1 + command.size() <= screen.width;
  return text +
         line("", painted(screen, Paint::cyan, variables + (fits ? " " : " \\\n      ") + command));
}

}  // namespace seam::host
