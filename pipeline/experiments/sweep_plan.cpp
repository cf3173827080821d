#include "pipeline/experiments/sweep_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <set>

#include "pipeline/config/stages.hpp"
#include "pipeline/config/variants.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"
#include "seam/random.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t most_runs = 10'000;
constexpr std::size_t longest_name = 180;  // file systems allow 255 bytes
constexpr int plan_format = 1;

using Combination = std::vector<std::string>;  // one value per axis

std::size_t combinations(const std::vector<const Axis*>& axes) {
  std::size_t count = 1;
  for (const Axis* axis : axes) {
    count *= axis->values.size();
    if (count > most_runs) break;
  }
  return count;
}

/// The combination with this number; the last axis changes fastest.
Combination choice_at(const std::vector<const Axis*>& axes, std::size_t number) {
  Combination choice(axes.size());
  for (std::size_t at = axes.size(); at-- > 0;) {
    const std::vector<std::string>& values = axes[at]->values;
    choice[at] = values[number % values.size()];
    number /= values.size();
  }
  return choice;
}

std::string draw_number(const Interval& interval, Random& random) {
  const bool whole = interval.numbers == Numbers::whole;
  const double most = whole ? interval.most + 1 : interval.most;
  double value = interval.scale == Scale::logarithmic
                     ? std::exp(random.uniform(std::log(interval.least), std::log(most)))
                     : random.uniform(interval.least, most);
  if (whole) {
    value = std::clamp(std::floor(value), interval.least, interval.most);
    return std::to_string(static_cast<std::int64_t>(value));
  }
  const std::string text = fmt::format("{:.4g}", value);  // short enough for a name
  const double rounded = std::stod(text);
  if (rounded < interval.least) return fmt::format("{}", interval.least);
  return rounded > interval.most ? fmt::format("{}", interval.most) : text;
}

Combination draw(const std::vector<const Axis*>& axes, Random& random) {
  Combination choice;
  for (const Axis* axis : axes) {
    choice.push_back(axis->interval ? draw_number(*axis->interval, random)
                                    : axis->values[random.index(axis->values.size())]);
  }
  return choice;
}

std::vector<Combination> draw_different(const std::vector<const Axis*>& axes,
                                        const RandomSearch& search) {
  const auto wanted = static_cast<std::size_t>(search.count);
  Random random(search.seed, stream_of("seam sweep"));
  const bool finite =
      std::ranges::none_of(axes, [](const Axis* axis) { return axis->interval.has_value(); });
  const std::size_t all = finite ? combinations(axes) : most_runs + 1;
  const auto too_few = [&](std::size_t count) {
    refuse(
        "--random asks for {} combinations, but there are only {}; omit --random to run all of "
        "them",
        wanted, count);
  };
  std::vector<Combination> drawn;
  if (all <= most_runs) {
    if (wanted > all) too_few(all);
    std::vector<std::size_t> numbers(all);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    random.shuffle(std::span(numbers));
    for (std::size_t at = 0; at < wanted; ++at) drawn.push_back(choice_at(axes, numbers[at]));
    return drawn;
  }
  std::set<Combination> seen;
  constexpr std::size_t tries_each = 100;  // a range of integers may hold fewer numbers than wanted
  for (std::size_t tries = 0; drawn.size() < wanted; ++tries) {
    if (tries > tries_each * wanted) too_few(drawn.size());
    Combination choice = draw(axes, random);
    if (seen.insert(choice).second) drawn.push_back(std::move(choice));
  }
  return drawn;
}

std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (c == '"' || c == '\'') continue;
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                      std::string_view("._-+").find(c) != std::string_view::npos;
    name += kept ? c : '_';
  }
  return name;
}

/// The last `words` of a key: "margin", "loss.margin".
std::string tail(const std::string& key, int words) {
  std::size_t at = key.size();
  for (; words > 0 && at != std::string::npos && at > 0; --words) at = key.rfind('.', at - 1);
  return at == std::string::npos || words > 0 ? key : key.substr(at + 1);
}

/// Names of the axes in run names: the shortest unique ones.
std::vector<std::string> labels_of(const std::vector<const Axis*>& axes) {
  for (int words = 1;; ++words) {
    std::vector<std::string> labels =
        mapped(axes, [&](const Axis* axis) { return plain_name(tail(axis->keys.front(), words)); });
    const std::set<std::string> different(labels.begin(), labels.end());
    constexpr int enough = 8;
    if (different.size() == labels.size() || words == enough) return labels;
  }
}

PlannedRun planned(const std::vector<const Axis*>& axes, const std::vector<std::string>& labels,
                   const Combination& choice) {
  PlannedRun run;
  for (std::size_t at = 0; at < axes.size(); ++at) {
    run.name += (at > 0 ? "," : "") + labels[at] + "=" + plain_name(choice[at]);
    for (const std::string& key : axes[at]->keys) run.settings.emplace_back(key, choice[at]);
  }
  return run;
}

/// The settings that decide which stages a run has, and with them the roles of its parameters.
std::vector<std::pair<std::string, std::string>> choice_of_stages(const PlannedRun& run) {
  std::vector<std::pair<std::string, std::string>> choice;
  for (const auto& setting : run.settings) {
    const std::string& key = setting.first;
    if (is_variant_key(key) || key.ends_with(".use") || key.ends_with(".like")) {
      choice.push_back(setting);
    }
  }
  return choice;
}

void make_names_differ(std::vector<PlannedRun>& runs) {
  std::set<std::string> seen;
  for (PlannedRun& run : runs) {
    run.name.resize(std::min(run.name.size(), longest_name));
    std::string name = run.name;
    for (int number = 2; !seen.insert(name).second; ++number) {
      name = fmt::format("{}~{}", run.name, number);
    }
    run.name = name;
  }
}

}  // namespace

std::vector<PlannedRun> plan_runs(const std::vector<Axis>& axes,
                                  const std::optional<RandomSearch>& random, const Roles& roles) {
  if (axes.empty())
    refuse("there are no parameters to vary; set a parameter and its values with --over");
  std::vector<const Axis*> drawn;
  std::vector<const Axis*> crossed;
  for (const Axis& axis : axes) {
    if (axis.interval && !random) {
      refuse("'{}' has a range, which needs random search (--random N); otherwise list its values",
             axis.keys.front());
    }
    const bool replicate = std::ranges::all_of(
        axis.keys, [&](const std::string& key) { return roles.is_replicate(key); });
    const bool by_chance = random && (axis.interval || !replicate);
    (by_chance ? drawn : crossed).push_back(&axis);
  }
  std::vector<Combination> choices{Combination()};
  if (random) {
    if (drawn.empty())
      refuse("--random has nothing to draw: seeds and folds are always run in full");
    choices = draw_different(drawn, *random);
  }
  const std::size_t each = combinations(crossed);
  if (each * choices.size() > most_runs) {
    refuse("the sweep has more than {} runs; use --random N to draw some of them", most_runs);
  }
  std::vector<const Axis*> order = drawn;
  order.insert(order.end(), crossed.begin(), crossed.end());
  const std::vector<std::string> labels = labels_of(order);
  std::vector<PlannedRun> runs;
  for (const Combination& choice : choices) {
    for (std::size_t number = 0; number < each; ++number) {
      Combination whole = choice;
      const Combination rest = choice_at(crossed, number);
      whole.insert(whole.end(), rest.begin(), rest.end());
      runs.push_back(planned(order, labels, whole));
    }
  }
  make_names_differ(runs);
  return runs;
}

std::vector<PlannedRun> draw_runs(const std::vector<Axis>& axes, const RandomSearch& random,
                                  const std::function<Roles(const PlannedRun&)>& roles_with) {
  Roles::Texts roles = roles_of({}).texts();
  std::set<std::vector<std::pair<std::string, std::string>>> known;
  for (;;) {  // which keys are replicates decides which runs are drawn, which may have other stages
    std::vector<PlannedRun> runs = plan_runs(axes, random, Roles(roles));
    const std::size_t before = roles.size();
    for (const PlannedRun& run : runs) {
      if (!known.insert(choice_of_stages(run)).second) continue;
      const Roles more = roles_with(run);
      roles.insert(more.texts().begin(), more.texts().end());
    }
    if (roles.size() == before) return runs;
  }
}

bool is_sweep_folder(const fs::path& folder) {
  return fs::is_regular_file(folder / "sweep.json");
}

void write_plan(const fs::path& folder, const SweepPlan& plan) {
  Json runs = list_json(plan.runs, [](const PlannedRun& run) -> Json {
    Json settings = Json::object();
    for (const auto& [key, value] : run.settings) settings[key] = value;
    return {{"name", run.name}, {"set", std::move(settings)}};
  });
  const Json json{{"format", plan_format},
                  {"seam", seam_version()},
                  {"name", plan.name},
                  {"file", plan.file},
                  {"started", plan.started},
                  {"working_directory", plan.working_directory},
                  {"over", plan.over},
                  {"random", plan.random ? Json(*plan.random) : Json()},
                  {"random_seed", plan.random_seed},
                  {"set", plan.set},
                  {"jobs", plan.jobs},
                  {"threads", plan.threads},
                  {"plugin_paths", plan.plugin_paths},
                  {"plugin_search_path", plan.plugin_search_path},
                  {"fingerprint", plan.fingerprint},
                  {"runs", std::move(runs)}};
  write_whole_file(folder / "sweep.json", indented_json(json) + "\n");
}

SweepPlan read_plan(const fs::path& folder) {
  const fs::path file = folder / "sweep.json";
  if (!is_sweep_folder(folder)) {
    refuse(
        "'{}' is not a sweep folder: it has no sweep.json; --resume needs a folder written by "
        "`seam sweep`",
        folder.string());
  }
  try {
    const Json json = parse_json(read_text_file(file));
    if (json.at("format") != plan_format) {
      refuse("'{}' has format {}; this version of Seam reads format {}", file.string(),
             json_line(json.at("format")), plan_format);
    }
    SweepPlan plan;
    plan.name = json.at("name").get<std::string>();
    plan.file = json.at("file").get<std::string>();
    plan.started = json.at("started").get<std::string>();
    plan.working_directory = json.at("working_directory").get<std::string>();
    plan.over = json.at("over").get<std::vector<std::string>>();
    if (!json.at("random").is_null()) plan.random = json["random"].get<std::int64_t>();
    plan.random_seed = json.at("random_seed").get<std::uint64_t>();
    plan.set = json.value("set", plan.set);                          // unknown in earlier versions
    plan.fingerprint = json.value("fingerprint", plan.fingerprint);  // the same
    plan.jobs = json.at("jobs").get<int>();
    plan.threads = json.at("threads").get<int>();
    plan.plugin_paths = json.at("plugin_paths").get<std::vector<std::string>>();
    plan.plugin_search_path = json.at("plugin_search_path").get<std::string>();
    for (const Json& run : json.at("runs")) {
      PlannedRun planned{run.at("name").get<std::string>(), {}};
      const fs::path name = planned.name;
      if (name.empty() || name.has_parent_path() || name == "." || name == "..") {
        throw Error("'" + file.string() + "' is damaged: a run is named '" + planned.name + "'");
      }
      for (const auto& [key, value] : run.at("set").items()) {
        planned.settings.emplace_back(key, value.get<std::string>());
      }
      plan.runs.push_back(std::move(planned));
    }
    return plan;
  } catch (const Json::exception& error) {
    throw Error("'" + file.string() + "' is damaged: " + error.what());
  }
}

}  // namespace seam::host
