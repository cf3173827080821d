#include "pipeline/experiments/comparison_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "pipeline/experiments/run_list.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/table.hpp"

namespace seam::host {
namespace {

constexpr std::size_t most_groups_named = 26;

std::string number(double value) {
  return fmt::format("{:.4f}", value);
}

/// Retrieval metrics lie between 0 and 1; others need more or fewer digits.
std::string measured(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : fmt::format("{}", value);
  const double size = std::abs(value);
  const bool usual = size == 0 || (size >= 1e-3 && size < 1e4);
  return usual ? number(value) : fmt::format("{:.4g}", value);
}

std::string signed_text(double value) {
  return (value < 0 ? "" : "+") + measured(value);
}

/// `best_size`: runs of the best group.
std::vector<std::string> score_cells(const Group& group, bool best, std::size_t best_size) {
  std::string difference = best ? "best" : "";
  std::string bounds;
  if (group.difference) {
    difference = group.difference->pairs > 0 ? signed_text(group.difference->mean) : "unpaired";
    if (const auto& interval = group.difference->bounds) {
      bounds = fmt::format("[{}, {}]", signed_text(interval->low), signed_text(interval->high));
    }
    const std::string pairs = pairs_text(group, best_size);
    bounds += (bounds.empty() || pairs.empty() ? "" : " ") + pairs;
  }
  std::vector<std::string> cells{std::to_string(group.members.size()),
                                 measured(group.mean),
                                 group.deviation ? measured(*group.deviation) : "",
                                 group.standard_error ? measured(*group.standard_error) : "",
                                 difference,
                                 bounds};
  for (const Mean& one : group.further) {
    cells.push_back(measured(one.mean) +
                    (one.standard_error ? " ± " + measured(*one.standard_error) : ""));
  }
  return cells;
}

/// A row for each group: what tells it apart, in columns with these titles, and its scores.
struct ScoreTable {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

ScoreTable score_table(const Ranking& ranking, const std::vector<std::string>& titles,
                       const std::function<std::vector<std::string>(std::size_t)>& first_cells,
                       const std::vector<std::string>& further) {
  ScoreTable table;
  for (const std::string& title : titles) table.columns.push_back({title});
  for (const char* title : {"runs", "mean", "deviation", "std. error", "to the best"}) {
    table.columns.push_back({title, Align::right});
  }
  table.columns.push_back({"95 % interval"});
  for (const std::string& metric : further) table.columns.push_back({metric});
  for (std::size_t at = 0; at < ranking.groups.size(); ++at) {
    const Group& group = ranking.groups[at];
    const bool best = at == 0 && ranking.groups.size() > 1 && !std::isnan(group.mean);
    std::vector<std::string>& row = table.rows.emplace_back(first_cells(at));
    std::ranges::move(score_cells(group, best, ranking.groups.front().members.size()),
                      std::back_inserter(row));
  }
  return table;
}

/// Groups as rows, their parameters as columns.
std::string wide_table(const Ranking& ranking, const std::vector<std::string>& further,
                       std::optional<std::size_t> width, bool& fits) {
  const auto values = [&](std::size_t at) {
    return mapped(ranking.groups[at].parameters, [](const auto& one) { return one.second; });
  };
  const auto [columns, rows] =
      score_table(ranking, titles_of(ranking.groups.front().parameters), values, further);
  constexpr std::size_t usual_width = 120;  // for files and pipes that are read by people
  fits = table_width(columns, rows) <= width.value_or(usual_width);
  return table_text(columns, rows, width);
}

std::string group_name(std::size_t at) {
  return at < most_groups_named ? std::string(1, static_cast<char>('A' + at))
                                : std::to_string(at + 1);
}

/// Groups as letters, and a separate table of the letters with one row per parameter.
std::string tall_table(const Ranking& ranking, const std::vector<std::string>& further,
                       std::optional<std::size_t> width) {
  const auto name = [](std::size_t at) { return std::vector{group_name(at)}; };
  const auto [columns, rows] = score_table(ranking, {"group"}, name, further);
  std::string text = table_text(columns, rows, width);
  for (std::size_t at = 0; at < ranking.groups.size(); ++at) {
    const Group& group = ranking.groups[at];
    text += fmt::format("\n{}: {}\n", group_name(at), group.members.front().name);
    std::vector<std::vector<std::string>> lines;
    for (const auto& [key, value] : group.parameters) lines.push_back({"  " + key, value});
    if (lines.empty()) continue;
    const std::vector<std::string> head = lines.front();
    lines.erase(lines.begin());
    text +=
        table_text({{head[0], Align::left, Room::flexible}, {head[1], Align::left, Room::flexible}},
                   lines, width);
  }
  return text;
}

std::string ranking_text(const Ranking& ranking, const std::vector<std::string>& further,
                         std::optional<std::size_t> width) {
  bool fits = false;
  std::string text = wide_table(ranking, further, width, fits);
  if (!fits) text = tall_table(ranking, further, width);
  for (const Group& group : ranking.groups) {
    if (!std::isnan(group.mean)) continue;
    for (const GroupMember& member : group.members) {
      if (std::isfinite(member.value)) continue;
      text += fmt::format("{} has the score {}: its group is ranked last\n", member.name,
                          measured(member.value));
    }
  }
  return text;
}

std::string data_lines(const Ranking& ranking) {
  std::string text;
  for (const auto& [key, value] : ranking.data) text += fmt::format("  {}: {}\n", key, value);
  return text;
}

std::size_t runs_in(const Comparison& comparison) {
  std::size_t count = 0;
  for (const Ranking& ranking : comparison.rankings) {
    for (const Group& group : ranking.groups) count += group.members.size();
  }
  return count;
}

std::string better_text(Better better) {
  return better == Better::higher ? "higher" : "lower";
}

std::string which_text(WhichEpoch which) {
  return which == WhichEpoch::best ? "best" : "last";
}

/// The number of observations that the differences are based on.
std::string observations_text(const Ranking& ranking) {
  const auto paired = std::ranges::find_if(ranking.groups, [](const Group& group) {
    return group.difference && group.difference->clusters > 0;
  });
  if (paired == ranking.groups.end()) return {};
  return fmt::format("paired on {} in {}\n", counted(paired->difference->pairs, "observation"),
                     counted(paired->difference->clusters, "cluster"));
}

/// "for comparison: chance 0.0123, before 0.0421 to 0.0611": baselines that the means should
/// exceed. `metric`: of further means; empty for those that rank.
std::string beside_text(const std::string& metric, const std::map<std::string, Bounds>& beside) {
  const std::string begin = "for comparison" + (metric.empty() ? "" : " with " + metric) + ": ";
  std::string text;
  for (const auto& [name, bounds] : beside) {
    text += fmt::format("{}{} {}", text.empty() ? begin : ", ", name, measured(bounds.low));
    if (bounds.high > bounds.low) text += " to " + measured(bounds.high);
  }
  return text.empty() ? text : text + "\n";
}

std::string differences_text(Pairing pairing) {
  if (pairing == Pairing::observations) {
    return "\nto the best: mean difference over the same observations, each averaged over a "
           "group's runs,\nwith its 95 % bootstrap interval over clusters, not corrected for the "
           "number of rows. It\nreflects the choice of observations, not of seeds; if it contains "
           "0, no difference is shown\n";
  }
  return "\nto the best: mean difference of runs with the same seed and fold, and its 95 % "
         "confidence\ninterval (Student's t), not corrected for the number of rows; if it "
         "contains 0, no\ndifference is shown\n";
}

/// Whether an epoch or imported weights of the group were selected on the evaluation data.
bool is_biased(const Comparison& comparison, const Group& group) {
  return comparison.which == WhichEpoch::best ||
         std::ranges::any_of(group.members, [&](const GroupMember& member) {
           return contains(comparison.biased, member.name);
         });
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return '"' + replaced(text, "\"", "\"\"") + '"';
}

std::string exact(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{}", value);
}

std::string exact(const std::optional<double>& value) {
  return value ? exact(*value) : std::string();
}

/// The names of the values shown for comparison with a metric, in all rankings.
std::set<std::string> names_beside(
    const Comparison& comparison,
    const std::function<const std::map<std::string, Bounds>&(const Ranking&)>& beside) {
  std::set<std::string> names;
  for (const Ranking& ranking : comparison.rankings) {
    for (const auto& [name, bounds] : beside(ranking)) names.insert(name);
  }
  return names;
}

/// Columns at the end of each row: the values for comparison with the metric, then the further
/// metrics, each with its own.
class LastColumns {
 public:
  explicit LastColumns(const Comparison& comparison) : further_(comparison.further) {
    names_.push_back(names_beside(
        comparison, [](const Ranking& one) -> const auto& { return one.beside; }));
    for (std::size_t at = 0; at < further_.size(); ++at) {
      names_.push_back(names_beside(
          comparison, [at](const Ranking& one) -> const auto& { return one.further_beside[at]; }));
    }
  }
  [[nodiscard]] std::string head() const {
    std::string text = head_beside("", names_.front());
    for (std::size_t at = 0; at < further_.size(); ++at) {
      for (const char* column : {"mean", "standard_deviation", "standard_error"}) {
        text += "," + csv_cell(further_[at] + "." + column);
      }
      text += head_beside(further_[at] + ".", names_[at + 1]);
    }
    return text;
  }
  [[nodiscard]] std::string cells(const Ranking& ranking, const Group& group) const {
    std::string text = cells_beside(ranking.beside, names_.front());
    for (std::size_t at = 0; at < further_.size(); ++at) {
      const Mean& one = group.further[at];
      text += "," + exact(one.mean) + "," + exact(one.deviation) + "," + exact(one.standard_error) +
              cells_beside(ranking.further_beside[at], names_[at + 1]);
    }
    return text;
  }

 private:
  static std::string head_beside(const std::string& metric, const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
      text += "," + csv_cell(metric + "beside." + name + ".low") + "," +
              csv_cell(metric + "beside." + name + ".high");
    }
    return text;
  }
  static std::string cells_beside(const std::map<std::string, Bounds>& beside,
                                  const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
      const auto found = beside.find(name);
      text += found == beside.end()
                  ? ",,"
                  : "," + exact(found->second.low) + "," + exact(found->second.high);
    }
    return text;
  }

  std::vector<std::string> further_;
  std::vector<std::set<std::string>> names_;  ///< for comparison with each metric
};

/// Empty if there is no difference.
std::string clusters_of(const Group& group) {
  return group.difference ? std::to_string(group.difference->clusters) : std::string();
}

Json mean_json(const Mean& mean) {
  return {{"mean", mean.mean},
          {"standard_deviation", mean.deviation ? Json(*mean.deviation) : Json()},
          {"standard_error", mean.standard_error ? Json(*mean.standard_error) : Json()}};
}

Json beside_json(const std::map<std::string, Bounds>& beside) {
  Json json = Json::object();
  for (const auto& [name, bounds] : beside) {
    json[name] = {{"low", bounds.low}, {"high", bounds.high}};
  }
  return json;
}

Json group_json(const Group& group) {
  Json members = list_json(group.members, [](const GroupMember& member) -> Json {
    return {{"run", member.name},
            {"replicate", member.replicate},
            {"value", member.value},
            {"epoch", member.epoch}};
  });
  Json json = mean_json(group);
  json.update({{"parameters", group.parameters},
               {"observations", group.observations},
               {"further", list_json(group.further, mean_json)},
               {"runs", std::move(members)},
               {"difference", nullptr}});
  if (group.difference && group.difference->pairs > 0) {
    const auto& bounds = group.difference->bounds;
    json["difference"] = {{"mean", group.difference->mean},
                          {"pairs", group.difference->pairs},
                          {"low", bounds ? Json(bounds->low) : Json()},
                          {"high", bounds ? Json(bounds->high) : Json()}};
    if (group.difference->clusters > 0) json["difference"]["clusters"] = group.difference->clusters;
  }
  return json;
}

}  // namespace

std::string pairs_text(const Group& group, std::size_t best_size) {
  if (!group.difference || group.difference->clusters > 0) return {};
  const std::size_t pairs = group.difference->pairs;
  if (pairs == 0 || pairs >= std::max(group.members.size(), best_size)) return {};
  return "of " + counted(pairs, "pair");
}

std::string to_text(const Comparison& comparison, std::optional<std::size_t> width) {
  std::string text;
  if (!comparison.rankings.empty()) {
    text += fmt::format("{} of the {} epoch, {} is better; {}\n", comparison.metric,
                        which_text(comparison.which), better_text(comparison.better),
                        counted(runs_in(comparison), "run"));
  }
  const bool several = comparison.rankings.size() > 1;
  if (several) {
    text +=
        "these runs were evaluated on different data or with different protocols, so they are "
        "ranked separately:\n";
  }
  bool differences = false;
  bool folds = false;  // of several seeds
  for (const Ranking& ranking : comparison.rankings) {
    text += "\n";
    if (several) text += "measured on\n" + data_lines(ranking) + "\n";
    text += ranking_text(ranking, comparison.further, width);
    text += beside_text("", ranking.beside);
    for (std::size_t at = 0; at < ranking.further_beside.size(); ++at) {
      text += beside_text(comparison.further[at], ranking.further_beside[at]);
    }
    if (!ranking.by_files.empty()) {
      text += "the files differ in " +
              enumerated({ranking.by_files.begin(), ranking.by_files.end()}) + "\n";
    }
    text += observations_text(ranking);
    for (const Group& group : ranking.groups) {
      differences = differences || (group.difference && group.difference->bounds);
      folds = folds || group.observations < group.members.size();
    }
  }
  if (folds) {
    text +=
        "\nmean, deviation and error are over folds; each fold counts as the mean over its seeds, "
        "because\nseeds of a fold share their images\n";
  }
  if (differences) text += differences_text(comparison.pairing);
  if (comparison.which == WhichEpoch::best) text += fmt::format("\n{}\n", best_epoch_note);
  if (!comparison.biased.empty()) {
    text +=
        "\nthese runs use weights that were selected on their evaluation data, so their values are "
        "biased upwards:\n";
  }
  for (const std::string& run : comparison.biased) text += "  " + run + "\n";
  if (!comparison.unranked.empty()) text += text.empty() ? "not ranked:\n" : "\nnot ranked:\n";
  for (const Unranked& run : comparison.unranked) {
    text += fmt::format("  {}: {}\n", run.name, run.why);
  }
  return text;
}

std::string to_csv(const Comparison& comparison) {
  std::set<std::string> data;
  std::set<std::string> keys;
  for (const Ranking& ranking : comparison.rankings) {
    for (const auto& [key, value] : ranking.data) data.insert(key);
    for (const Group& group : ranking.groups) {
      for (const auto& [key, value] : group.parameters) keys.insert(key);
    }
  }
  const auto value_of = [](const Parameters& parameters, const std::string& key) {
    const auto found = parameters.find(key);
    return found == parameters.end() ? std::string() : csv_cell(found->second);
  };
  std::string text = "ranking,rank,metric";
  for (const std::string& key : data) text += "," + csv_cell(key);
  for (const std::string& key : keys) text += "," + csv_cell(key);
  text += ",runs,observations,mean,standard_deviation,standard_error,difference,low,high,pairs";
  const bool observations = comparison.pairing == Pairing::observations;
  const LastColumns last(comparison);
  text += (observations ? ",clusters" : "") + last.head() + ",epoch,biased_upwards\r\n";
  for (std::size_t at = 0; at < comparison.rankings.size(); ++at) {
    const Ranking& ranking = comparison.rankings[at];
    for (std::size_t place = 0; place < ranking.groups.size(); ++place) {
      const Group& group = ranking.groups[place];
      text += fmt::format("{},{},{}", at + 1, place + 1, csv_cell(comparison.metric));
      for (const std::string& key : data) text += "," + value_of(ranking.data, key);
      for (const std::string& key : keys) text += "," + value_of(group.parameters, key);
      text += fmt::format(",{},{},{},{},{}", group.members.size(), group.observations,
                          exact(group.mean), exact(group.deviation), exact(group.standard_error));
      if (group.difference && group.difference->pairs > 0) {
        const auto& bounds = group.difference->bounds;
        text += fmt::format(",{},{},{},{}", exact(group.difference->mean),
                            bounds ? exact(bounds->low) : "", bounds ? exact(bounds->high) : "",
                            group.difference->pairs);
      } else {
        text += ",,,,";
      }
      if (observations) text += "," + clusters_of(group);
      text += last.cells(ranking, group) +
              fmt::format(",{},{}\r\n", which_text(comparison.which), is_biased(comparison, group));
    }
  }
  return text;
}

std::string to_json(const Comparison& comparison) {
  Json rankings = list_json(comparison.rankings, [](const Ranking& ranking) -> Json {
    return {{"data", ranking.data},
            {"groups", list_json(ranking.groups, group_json)},
            {"by_files", ranking.by_files},
            {"beside", beside_json(ranking.beside)},
            {"further_beside", list_json(ranking.further_beside, beside_json)}};
  });
  Json unranked = list_json(comparison.unranked, [](const Unranked& run) -> Json {
    return {{"run", run.name}, {"why", run.why}};
  });
  return json_line({{"metric", comparison.metric},
                    {"flow", comparison.flow},
                    {"further", comparison.further},
                    {"better", better_text(comparison.better)},
                    {"which", which_text(comparison.which)},
                    {"confidence", confidence},
                    {"paired_by", comparison.pairing == Pairing::runs ? "run" : "observation"},
                    {"biased_upwards", comparison.biased},
                    {"rankings", std::move(rankings)},
                    {"not_ranked", std::move(unranked)}}) +
         "\n";
}

}  // namespace seam::host
