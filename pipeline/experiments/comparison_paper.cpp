#include "pipeline/experiments/comparison_paper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "pipeline/experiments/comparison_text.hpp"

namespace seam::host {
namespace {

using Row = std::vector<std::string>;

/// The notation of a format.
struct Notation {
  std::function<std::string(const std::string&)> text;  ///< escaped
  std::function<std::string(const std::string&)> formula;
  std::string_view plus_minus;
  std::string_view comment;  ///< before a line of text
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

std::string difference_text(const Group& group, const Notation& notation) {
  if (!group.difference) return {};
  if (group.difference->pairs == 0) return "unpaired";
  const int decimals = decimals_of(group.standard_error);
  std::string text = notation.formula(fmt::format("{:+.{}f}", group.difference->mean, decimals));
  if (const auto& bounds = group.difference->bounds) {
    text += " " + notation.formula(fmt::format("[{:+.{}f}, {:+.{}f}]", bounds->low, decimals,
                                               bounds->high, decimals));
  }
  return text;
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
    row.push_back(difference_text(group, notation));
  }
  return rows;
}

/// Parameters to the left, runs and means to the right, differences to the left.
bool is_number(std::size_t column, std::size_t columns, const Comparison& comparison) {
  return column + 3 + comparison.further.size() >= columns && column + 1 < columns;
}

std::string joined(const Row& row, std::string_view between) {
  std::string text;
  for (const std::string& cell : row) {
    if (&cell != row.data()) text += between;
    text += cell;
  }
  return text;
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

std::string markdown_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
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

}  // namespace

std::string to_markdown(const Comparison& comparison) {
  const auto as_it_is = [](const std::string& text) { return text; };
  const Notation notation{markdown_escaped, as_it_is, "±", ""};
  std::string text;
  for (const Ranking& ranking : comparison.rankings) {
    const std::vector<Row> rows = rows_of(ranking, comparison, notation);
    if (!text.empty()) text += "\n";
    text += data_text(comparison, ranking, notation);
    for (const Row& row : rows) {
      text += "| " + joined(row, " | ") + " |\n";
      if (&row != rows.data()) continue;
      text += "|";
      for (std::size_t at = 0; at < row.size(); ++at) {
        text += is_number(at, row.size(), comparison) ? "---:|" : "---|";
      }
      text += "\n";
    }
  }
  return text + warnings_text(comparison, notation);
}

std::string to_latex(const Comparison& comparison) {
  const auto formula = [](const std::string& text) { return "$" + text + "$"; };
  const Notation notation{latex_escaped, formula, "\\pm", "% "};
  std::string text;
  for (const Ranking& ranking : comparison.rankings) {
    const std::vector<Row> rows = rows_of(ranking, comparison, notation);
    if (!text.empty()) text += "\n";
    text += data_text(comparison, ranking, notation);
    text += "\\begin{tabular}{";
    for (std::size_t at = 0; at < rows[0].size(); ++at) {
      text += is_number(at, rows[0].size(), comparison) ? 'r' : 'l';
    }
    text += "}\n\\toprule\n";
    for (const Row& row : rows) {
      text += joined(row, " & ") + " \\\\\n";
      if (&row == rows.data()) text += "\\midrule\n";
    }
    text += "\\bottomrule\n\\end{tabular}\n";
  }
  return text + warnings_text(comparison, notation);
}

}  // namespace seam::host
