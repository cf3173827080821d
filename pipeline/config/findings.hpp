/// Collects problems while a pipeline is checked; adds the line that each points at. An error that
/// is found twice, because two stages or flows share the line, becomes one problem with the notes
/// of both.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/config/problem.hpp"
#include "pipeline/config/source.hpp"

namespace seam::host {

class Findings {
 public:
  explicit Findings(const Sources& sources) : sources_(&sources) {}

  /// Empty notes are left out.
  void error(std::string code, const Place& place, std::string message,
             std::vector<std::string> notes = {}) {
    ++errors_;
    add({Severity::error, std::move(code), std::move(message), place, {}, std::move(notes)});
  }
  void warning(std::string code, const Place& place, std::string message,
               std::vector<std::string> notes = {}) {
    add({Severity::warning, std::move(code), std::move(message), place, {}, std::move(notes)});
  }

  [[nodiscard]] bool has_errors() const { return errors_ > 0; }
  [[nodiscard]] std::size_t errors() const { return errors_; }

  /// The text of the place's line; empty if its source is not known.
  [[nodiscard]] std::string_view line(const Place& place) const;
  /// All of them, in the order of sources, lines and columns.
  [[nodiscard]] std::vector<Problem> in_order() const;

 private:
  void add(Problem problem);

  const Sources* sources_;  // the loader's, which outlives its findings
  std::vector<Problem> problems_;
  std::map<decltype(identity_of({})), std::size_t> positions_;
  std::size_t errors_ = 0;  // including repeated ones
};

}  // namespace seam::host
