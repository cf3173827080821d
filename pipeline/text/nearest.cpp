#include "pipeline/text/nearest.hpp"

#include <algorithm>
#include <utility>

namespace seam::host {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// A third of the letters may be wrong, but at least one.
std::size_t most_mistakes(std::string_view name) {
  return std::max<std::size_t>(1, (name.size() + 1) / 3);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_back(b.size() + 1);
  std::vector<std::size_t> back(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) back[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({back[j] + 1, row[j - 1] + 1, back[j - 1] + replaced});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
    std::swap(two_back, back);
    std::swap(back, row);
  }
  return back[b.size()];
}

std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& candidates,
                                       std::size_t count) {
  constexpr std::size_t longest = 256;  // no name is longer; the table is quadratic
  if (name.empty() || name.size() > longest) return {};
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t mistakes = edit_distance(name, candidate);
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (mistakes <= most_mistakes(name) && mistakes < longer) {
      near.emplace_back(mistakes, candidate);
      continue;
    }
    // "decode" for "image.decode": the right word without its family.
    const std::size_t dot = candidate.rfind('.');
    if (dot != std::string::npos && std::string_view(candidate).substr(dot + 1) == name) {
      near.emplace_back(most_mistakes(name), candidate);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> names;
  for (auto& [mistakes, candidate] : near) {
    // If one name is much nearer, it is the only suggestion.
    if (names.size() == count || mistakes > near.front().first + 1) break;
    names.push_back(std::move(candidate));
  }
  return names;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> names = nearest_names(name, candidates);
  if (names.empty()) return {};
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += "'" + names[i] + "'";
  }
  return text + "?";
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string text = did_you_mean(name, candidates);
  return text.empty() ? text : "; " + text;
}

std::string enumerated(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::string circle_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + " -> ";
  return text + names.front();
}

}  // namespace seam::host
