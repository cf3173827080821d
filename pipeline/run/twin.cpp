#include "pipeline/run/twin.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace seam::host {
namespace fs = std::filesystem;
namespace {

/// "stage.model" is the beginning of "stage.model.use", and not of "stage.model_of_items.use".
bool begins(const std::string& name, const std::string& key) {
  return key == name || key.starts_with(name + ".");
}

}  // namespace

Problem twin_problem(const PipelineSpec& spec, std::string message,
                     std::vector<std::string> notes) {
  Problem problem;
  problem.code = "twin";
  problem.message = std::move(message);
  problem.place.file = spec.file;
  problem.notes = std::move(notes);
  return problem;
}

fs::path twin_of(const PipelineSpec& spec) {
  if (spec.twin.empty()) return {};
  return (fs::path(spec.file).parent_path() / spec.twin).lexically_normal();
}

std::vector<Problem> check_twin(const PipelineSpec& spec, const std::string& twin) {
  const std::vector<Difference> differences =
      in_results(differences_between(twin, spec.resolved), spec.roles);
  const auto named = [&](const Difference& one) {
    return std::ranges::any_of(spec.differs_in,
                               [&](const std::string& name) { return begins(name, one.key); });
  };
  std::vector<Problem> problems;
  for (const Difference& one : differences) {
    if (named(one)) continue;
    problems.push_back(twin_problem(
        spec,
        fmt::format("it also differs from its twin '{}' in {}: {} here, {} there", spec.twin,
                    one.key, one.now.value_or("not set"), one.before.value_or("not set")),
        {"make them equal, or add the key to `differs_in` in [pipeline]"}));
  }
  for (const std::string& name : spec.differs_in) {
    if (std::ranges::any_of(differences,
                            [&](const Difference& one) { return begins(name, one.key); })) {
      continue;
    }
    problems.push_back(twin_problem(
        spec, fmt::format("`differs_in` names '{}', but the twins do not differ there", name)));
  }
  return problems;
}

}  // namespace seam::host
