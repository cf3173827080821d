/// Collects problems while a pipeline is checked; adds the line that each points at.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/problem.hpp"
#include "pipeline/config/source.hpp"

namespace seam::host {

class Findings {
 public:
  explicit Findings(const Sources& sources) : sources_(&sources) {}

  /// Empty notes are left out.
  void error(std::string code, const Place& place, std::string message,
             std::vector<std::string> notes = {});
  void warning(std::string code, const Place& place, std::string message,
               std::vector<std::string> notes = {});

  [[nodiscard]] bool has_errors() const { return errors_ > 0; }
  [[nodiscard]] std::size_t errors() const { return errors_; }

  /// All of them, in the order of sources, lines and columns.
  [[nodiscard]] std::vector<Problem> in_order() const;

 private:
  void add(Severity severity, std::string code, const Place& place, std::string message,
           std::vector<std::string> notes);

  const Sources* sources_;  // the loader's, which outlives its findings
  std::vector<Problem> problems_;
  std::size_t errors_ = 0;
};

}  // namespace seam::host
