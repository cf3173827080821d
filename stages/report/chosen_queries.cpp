#include "stages/report/chosen_queries.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace seam::stages {
namespace {

/// Ascending from the best.
auto merit(const AskedQuery& query) {
  const auto right = std::ranges::count(query.nearest, true, &FoundPicture::right);
  const std::int64_t rank =
      query.first_right > 0 ? query.first_right : std::numeric_limits<std::int64_t>::max();
  const float distance = query.nearest.empty() ? 0 : query.nearest.front().distance;
  return std::tuple(rank, -right, distance);
}

/// Ascending from the worst.
auto demerit(const AskedQuery& query) {
  const auto [rank, right, distance] = merit(query);
  return std::tuple(-rank, -right, distance);
}

template <class Key>
std::vector<std::size_t> first_by(std::span<const AskedQuery> queries,
                                  std::vector<std::size_t> candidates, std::int64_t count,
                                  Key key) {
  std::ranges::stable_sort(
      candidates, [&](std::size_t a, std::size_t b) { return key(queries[a]) < key(queries[b]); });
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(count)));
  return candidates;
}

std::string category_title(std::int64_t category, const std::vector<std::string>& names,
                           bool only) {
  if (category >= 0) {
    const auto at = static_cast<std::size_t>(category);
    return (at < names.size() ? names[at] : "Category " + std::to_string(category)) + ", at random";
  }
  return only ? "At random" : "Category unknown, at random";
}

}  // namespace

std::vector<QueryGroup> choose_queries(std::span<const AskedQuery> queries,
                                       const QueryChoice& choice, Random random) {
  std::vector<std::size_t> answerable;
  std::map<std::int64_t, std::vector<std::size_t>> by_category;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].relevant > 0) answerable.push_back(i);
    by_category[queries[i].category].push_back(i);
  }
  std::vector<QueryGroup> groups;
  const auto add = [&groups](std::string title, std::vector<std::size_t> chosen) {
    if (!chosen.empty()) groups.push_back({std::move(title), std::move(chosen)});
  };
  const auto best = first_by(queries, answerable, choice.best, merit);
  std::erase_if(answerable,
                [&](std::size_t at) { return std::ranges::find(best, at) != best.end(); });
  add("Best", best);
  add("Worst", first_by(queries, answerable, choice.worst, demerit));

  std::vector<std::pair<std::int64_t, std::vector<std::size_t>>> categories(by_category.begin(),
                                                                            by_category.end());
  // Drawn for every category, so that a sample does not depend on which other categories are shown.
  for (auto& [category, members] : categories) random.shuffle(std::span(members));
  std::ranges::stable_sort(
      categories, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const auto shown = std::min(categories.size(), static_cast<std::size_t>(choice.categories));
  categories.resize(shown);
  std::ranges::sort(categories, {}, [](const auto& entry) { return entry.first; });
  for (auto& [category, members] : categories) {
    members.resize(std::min(members.size(), static_cast<std::size_t>(choice.per_category)));
    add(category_title(category, choice.names, by_category.size() == 1), members);
  }
  return groups;
}

}  // namespace seam::stages
