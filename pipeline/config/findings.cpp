#include "pipeline/config/findings.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace seam::host {

void Findings::add(Severity severity, std::string code, const Place& place, std::string message,
                   std::vector<std::string> notes) {
  std::erase(notes, std::string{});
  const auto [found, first] = positions_.emplace(
      std::tuple(code, message, place.file, place.line, place.column), problems_.size());
  if (!first) {
    std::vector<std::string>& known = problems_[found->second].notes;
    for (std::string& note : notes) {
      if (std::ranges::find(known, note) == known.end()) known.push_back(std::move(note));
    }
    return;
  }
  Problem& problem = problems_.emplace_back();
  problem.severity = severity;
  problem.code = std::move(code);
  problem.message = std::move(message);
  problem.place = place;
  problem.notes = std::move(notes);
  if (const SourceText* source = sources_->find(place.file)) {
    problem.source_line = source->line(place.line);
  }
}

void Findings::error(std::string code, const Place& place, std::string message,
                     std::vector<std::string> notes) {
  ++errors_;
  add(Severity::error, std::move(code), place, std::move(message), std::move(notes));
}

void Findings::warning(std::string code, const Place& place, std::string message,
                       std::vector<std::string> notes) {
  add(Severity::warning, std::move(code), place, std::move(message), std::move(notes));
}

std::vector<Problem> Findings::in_order() const {
  std::vector<Problem> problems = problems_;
  const auto key = [this](const Problem& problem) {
    const Place& place = problem.place;
    return std::tuple(sources_->position(place.file), place.line, place.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return key(a) < key(b); });
  return problems;
}

}  // namespace seam::host
