#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "pipeline/experiments/comparison_text.hpp"
#include "pipeline/experiments/run_list.hpp"
#include "pipeline/text/markdown.hpp"

namespace seam::host {
namespace {

using Row = std::vector<std::string>;

/// The notation of a format.
struct Notation {
  std::function<std::string(const std::string&)> text;  ///< escaped
  std::function<std::string(const std::string&)> formula;
  std::string_view plus_minus;
  std::string_view comment;  ///< before a line of text
  /// Writes rows, the first of which is the head; `alignment` has 'l' or 'r' for each column.
  std::function<std::string(const std::vector<Row>& rows, const std::string& alignment)> table;
};

/// Enough decimals for two digits of the error; four without an error.
int decimals_of(const std::optional<double>& error) {
  constexpr int usual = 4;
  if (!error || *error <= 0 || !std::isfinite(*error)) return usual;
  return std::clamp(1 - static_cast<int>(std::floor(std::log10(*error))), 0, 8);
}

std::string mean_text(const Mean& mean, const Notation& notation) {
  if (!std::isfinite(mean.mean)) return "not finite";
  const int decimals = decimals_of(mean.standard_error);
  std::string text = fmt::format("{:.{}f}", mean.mean, decimals);
  if (mean.standard_error) {
    text += fmt::format(" {} {:.{}f}", notation.plus_minus, *mean.standard_error, decimals);
  }
  return notation.formula(text);
}

/// `best_size`: runs of the best group.
std::string difference_text(const Group& group, std::size_t best_size, const Notation& notation) {
  if (!group.difference) return {};
  if (group.difference->pairs == 0) return "unpaired";
  const int decimals = decimals_of(group.standard_error);
  std::string text = notation.formula(fmt::format("{:+.{}f}", group.difference->mean, decimals));
  if (const auto& bounds = group.difference->bounds) {
    text += " " + notation.formula(fmt::format("[{:+.{}f}, {:+.{}f}]", bounds->low, decimals,
                                               bounds->high, decimals));
  }
  const std::string pairs = pairs_text(group, best_size);
  return pairs.empty() ? text : text + " " + pairs;
}

/// The head and a row for each group.
std::vector<Row> rows_of(const Ranking& ranking, const Comparison& comparison,
                         const Notation& notation) {
  std::vector<Row> rows(1);
  for (const std::string& title : titles_of(ranking.groups.front().parameters)) {
    rows[0].push_back(notation.text(title));
  }
  std::vector<std::string> titles{"runs", comparison.metric};
  titles.insert(titles.end(), comparison.further.begin(), comparison.further.end());
  titles.emplace_back("to the best");
  for (const std::string& title : titles) rows[0].push_back(notation.text(title));
  for (const Group& group : ranking.groups) {
    Row& row = rows.emplace_back();
    for (const auto& [key, value] : group.parameters) row.push_back(notation.text(value));
    row.push_back(std::to_string(group.members.size()));
    row.push_back(mean_text(group, notation));
    for (const Mean& one : group.further) row.push_back(mean_text(one, notation));
    row.push_back(difference_text(group, ranking.groups.front().members.size(), notation));
  }
  return rows;
}

/// The data and protocol that distinguish the rankings.
std::string data_text(const Comparison& comparison, const Ranking& ranking,
                      const Notation& notation) {
  std::string text;
  if (comparison.rankings.size() < 2) return text;
  for (const auto& [key, value] : ranking.data) {
    text += fmt::format("{}measured on {}: {}\n", notation.comment, notation.text(key),
                        notation.text(value));
  }
  return text.empty() ? text : text + "\n";
}

/// Warnings about biased and unranked runs.
std::string warnings_text(const Comparison& comparison, const Notation& notation) {
  std::string text;
  if (comparison.which == WhichEpoch::best) {
    text += fmt::format("\n{}{}\n", notation.comment, best_epoch_note);
  }
  for (const std::string& run : comparison.biased) {
    text += fmt::format("\n{}biased upwards, weights selected on this data: {}\n", notation.comment,
                        notation.text(run));
  }
  for (const Unranked& run : comparison.unranked) {
    text += fmt::format("\n{}not ranked: {}: {}\n", notation.comment, notation.text(run.name),
                        notation.text(run.why.substr(0, run.why.find('\n'))));
  }
  return text;
}

std::string latex_escaped(const std::string& text) {
  std::string escaped;
  if (text.starts_with('[')) escaped = "{}";  // after a line break, '[' would begin a length
  for (const char c : text) {
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) escaped += '\\';
    if (c == '\\') {
      escaped += "\\textbackslash{}";
    } else if (c == '~' || c == '^') {
      escaped += fmt::format("\\{}{{}}", c);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string markdown_table(const std::vector<Row>& rows, const std::string& alignment) {
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("| {} |\n", fmt::join(row, " | "));
    if (&row != rows.data()) continue;
    text += "|";
    for (const char side : alignment) text += side == 'r' ? "---:|" : "---|";
    text += "\n";
  }
  return text;
}

std::string latex_table(const std::vector<Row>& rows, const std::string& alignment) {
  std::string text = fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n", alignment);
  for (const Row& row : rows) {
    text += fmt::format("{} \\\\\n", fmt::join(row, " & "));
    if (&row == rows.data()) text += "\\midrule\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string comparison_text(const Comparison& comparison, const Notation& notation) {
  std::string text;
  for (const Ranking& ranking : comparison.rankings) {
    const std::vector<Row> rows = rows_of(ranking, comparison, notation);
    if (!text.empty()) text += "\n";
    text += data_text(comparison, ranking, notation);
    // Parameters to the left, runs and means to the right, differences to the left.
    const std::size_t numbers = 2 + comparison.further.size();
    const std::size_t parameters = rows[0].size() - numbers - 1;
    text += notation.table(rows, std::string(parameters, 'l') + std::string(numbers, 'r') + "l");
  }
  return text + warnings_text(comparison, notation);
}

}  // namespace

std::string to_markdown(const Comparison& comparison) {
  const auto as_it_is = [](const std::string& text) { return text; };
  return comparison_text(comparison, {markdown_cell, as_it_is, "±", "", markdown_table});
}

std::string to_latex(const Comparison& comparison) {
  const auto formula = [](const std::string& text) { return "$" + text + "$"; };
  return comparison_text(comparison, {latex_escaped, formula, "\\pm", "% ", latex_table});
}

}  // namespace seam::host
