#include "pipeline/config/findings.hpp"

#include <algorithm>

#include "pipeline/text/lists.hpp"

namespace seam::host {

void Findings::add(Problem problem) {
  std::erase(problem.notes, std::string{});
  const auto [found, first] = positions_.emplace(identity_of(problem), problems_.size());
  if (!first) {
    std::vector<std::string>& known = problems_[found->second].notes;
    for (std::string& note : problem.notes) add_unless_present(known, std::move(note));
    return;
  }
  problem.source_line = line(problem.place);
  problems_.push_back(std::move(problem));
}

std::string_view Findings::line(const Place& place) const {
  const SourceText* source = sources_->find(place.file);
  return source == nullptr ? std::string_view() : source->line(place.line);
}

std::vector<Problem> Findings::in_order() const {
  std::vector<Problem> problems = problems_;
  std::ranges::stable_sort(problems, {}, [this](const Problem& problem) {
    const Place& place = problem.place;
    return std::tuple(sources_->position(place.file), place.line, place.column);
  });
  return problems;
}

}  // namespace seam::host
