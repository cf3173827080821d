/// Shared by the conformance checks: a stage on trial and the results of its flows.
///
///     Candidate ──► Trial: a harness, the example's packets ──► flow() ──► take() ──► Result
///
/// The checks are grouped into files by subject: conformance_declaration.cpp,
/// conformance_packets.cpp, conformance_flows.cpp and conformance_parameters.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "seam/conformance_checks.hpp"

namespace seam::testing::checks {

Findings describes_itself(const Candidate& candidate);
Findings refuses_bad_parameters(const Candidate& candidate);
Findings works_on_its_example(const Candidate& candidate);
Findings accounts_for_every_packet(const Candidate& candidate);
Findings leaves_its_thread_as_it_was(const Candidate& candidate);
Findings ends_an_empty_flow(const Candidate& candidate);
Findings ends_once(const Candidate& candidate);
Findings gives_the_same_bytes(const Candidate& candidate);
Findings keeps_its_state(const Candidate& candidate);
Findings owns_up_to_labels(const Candidate& candidate);
Findings is_cancelled_anywhere(const Candidate& candidate);
Findings each_parameter_matters(const Candidate& candidate);

inline constexpr std::size_t most_from_a_source = 64;

using Names = std::set<std::string, std::less<>>;

/// Null if there is none with that name.
const FieldInfo* find_field(const std::vector<FieldInfo>& fields, std::string_view name);
const Packet::Slot* find_slot(const Packet& packet, std::string_view name);

/// Returns a description of the first difference, or nullopt.
std::optional<std::string> difference(const Packet& a, const Packet& b);

/// A temporary folder, deleted with its owner.
class RunDirectory {
 public:
  RunDirectory();
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Removes all files; returns their bytes by name.
  std::map<std::string, std::string> take_files();

 private:
  std::filesystem::path path_;
};

/// A stage in its harness, with the stages that it refers to and a run folder.
class Trial {
 public:
  Trial(const Candidate& candidate, bool training, const Example::Parameters& more = {},
        int threads = 1);

  Harness& operator*() { return *harness_; }
  Harness* operator->() { return harness_.get(); }
  [[nodiscard]] const Description& description() { return harness_->runner().description(); }
  [[nodiscard]] StageKind kind() { return harness_->runner().kind(); }
  [[nodiscard]] bool training() const { return training_; }

  /// The example's packets with only the fields that the stage declares as read.
  std::vector<Packet> packets();
  /// Pushes all packets of a flow, or the first of them, without ending it.
  void feed(std::size_t most = std::numeric_limits<std::size_t>::max());
  void flow(std::int64_t epoch = 0) {
    harness_->epoch(epoch);
    feed();
    harness_->finish();
  }
  /// Fields of the example's packets that the stage does not declare as read.
  [[nodiscard]] const Names& taken_away() const { return taken_away_; }

 private:
  RunDirectory directory_;
  std::shared_ptr<void> connected_;  // destroyed after the harness, which refers to it
  std::unique_ptr<Harness> harness_;
  const Candidate& candidate_;  // the check's
  bool training_;
  int threads_;
  Names taken_away_;
};

/// The results of a flow, to be compared with those of another.
struct Result {
  std::vector<Packet> outputs;
  std::vector<std::string> rest;  ///< drops, errors, metrics and reports, one line each
};

/// Takes the outputs so far.
Result take(Harness& harness);

/// Returns a description of the first difference, or nullopt.
std::optional<std::string> difference(const Result& a, const Result& b);

/// Saves the stage and the stages before it.
std::vector<Archive> save(Harness& harness);

/// Adds a finding if `body` throws, although it must not.
template <class Body>
void expecting_nothing_thrown(Findings& findings, const std::string& doing, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    findings.push_back(doing + ": " + error.full_message());
  } catch (const std::exception& error) {
    findings.push_back(doing + ": " + error.what());
  }
}

/// The kinds of flow that the stage is tried in: evaluation (false), training (true) or both.
std::vector<bool> modes(const Candidate& candidate);

/// Merges the findings of modes(candidate): a finding of both modes appears once, others name their
/// mode.
Findings joined(const std::vector<Findings>& of_modes);

/// Runs `check` with a trial in each mode; whatever it throws is a finding.
template <class Body>
Findings with_trial(const Candidate& candidate, Body&& check) {
  std::vector<Findings> all;
  for (const bool training : modes(candidate)) {
    Findings& findings = all.emplace_back();
    expecting_nothing_thrown(findings, "working on the example", [&] {
      Trial trial(candidate, training);
      check(trial, findings);
    });
  }
  return joined(all);
}

}  // namespace seam::testing::checks
