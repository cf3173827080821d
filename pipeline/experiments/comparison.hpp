/// Which parameters make runs better: `seam compare`.
///
///     runs ──► same data and protocol? ──► Ranking, one for each
///                  └► same parameters but for seed and fold ──► Group: mean, deviation
///                         └► paired with the best group's runs of the same seed and fold
///                                └► difference with its 95 % confidence interval
///
/// Runs that cannot be compared are never ranked together; they are listed with the reason. Further
/// metrics are shown next to the one that ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/experiments/metric_values.hpp"
#include "pipeline/experiments/run_folder.hpp"
#include "pipeline/experiments/statistics.hpp"

namespace seam::host {

/// A complete run with its score.
struct ScoredRun {
  std::string name;
  Parameters parameters;
  Roles roles;
  Parameters data;    ///< equal within a ranking: data sets of the evaluation, protocol
  Parameters counts;  ///< packets by flow and fold: equal if both runs have them
  double value = 0;
  std::int64_t epoch = 0;          ///< from 0, in which it was measured
  std::filesystem::path outcomes;  ///< file with the score of each observation; may be missing
  std::vector<Score::Beside> beside;
  std::string file;             ///< the pipeline file, absolute; may be empty
  std::vector<double> further;  ///< of the further metrics
  std::vector<std::vector<Score::Beside>> further_beside;
};

struct GroupMember {
  std::string name;
  Parameters replicate;  ///< seed and folds
  double value = 0;
  std::int64_t epoch = 0;
  std::filesystem::path outcomes;
  std::vector<double> further;
};

/// The units that are compared in pairs.
enum class Pairing : std::uint8_t {
  runs,          ///< of the same seed and fold
  observations,  ///< by name, such as the queries that the groups' runs evaluated
};

/// Against the best group, over the seeds and folds that both have.
struct DifferenceToBest {
  std::size_t pairs = 0;         ///< 0: they have none in common
  std::size_t clusters = 0;      ///< of the pairs, if these are observations
  double mean = 0;               ///< this group minus the best
  std::optional<Bounds> bounds;  ///< none for one pair or equal ones
};

/// Over folds, each as the mean over its seeds, or, with a single fold, over seeds.
struct Mean {
  double mean = 0;                       ///< NaN if a member's value is not finite
  std::optional<double> deviation;       ///< none for a single observation
  std::optional<double> standard_error;  ///< of the mean: deviation / sqrt(observations)
};

struct Group : Mean {
  /// Those that differ within the ranking. If there are several pipeline files, "file" replaces the
  /// parameters that the files decide.
  Parameters parameters;
  std::vector<GroupMember> members;
  std::size_t observations = 0;                ///< number of folds, or of seeds
  std::optional<DifferenceToBest> difference;  ///< none for the best, and if a mean is not finite
  std::vector<Mean> further;                   ///< of the further metrics
};

struct Ranking {
  Parameters data;            ///< its differences from other rankings; empty for a single one
  std::vector<Group> groups;  ///< best first, those without a finite mean last
  /// Keys that differ and that the pipeline files decide: the groups show the files instead.
  std::set<std::string> by_files;
  std::map<std::string, Bounds> beside;  ///< lowest and highest: of chance, of each floor, ...
  std::vector<std::map<std::string, Bounds>> further_beside;  ///< the same of the further metrics
};

struct Unranked {
  std::string name;
  std::string why;
};

struct Comparison {
  std::string metric;
  std::string flow;
  Better better = Better::higher;
  WhichEpoch which = WhichEpoch::last;
  std::vector<std::string> further;  ///< metrics that do not rank, [FLOW:]STAGE.METRIC
  std::vector<Ranking> rankings;     ///< in descending order of runs
  Pairing pairing = Pairing::runs;
  std::vector<Unranked> unranked;
  std::vector<std::string> biased;  ///< runs whose weights were selected on their evaluation data
};

/// The confidence of intervals.
inline constexpr double confidence = 0.95;

struct ComparisonChoice {
  std::string metric;                ///< [FLOW:]STAGE.METRIC; empty: the runs' first headline
  std::vector<std::string> further;  ///< metrics to show in addition, from the same epochs
  std::optional<Better> better;      ///< none: as in their score.json
  WhichEpoch which = WhichEpoch::last;
  Pairing pairing = Pairing::runs;
};

/// Groups and ranks; repetitions of one run are added to `unranked`.
std::vector<Ranking> rank(const std::vector<ScoredRun>& runs, Better better,
                          std::vector<Unranked>& unranked);

/// Reads the scores of the complete runs and ranks them. Throws seam::Error (configuration) if the
/// metric or its better direction is ambiguous, and the exceptions of pair_observations().
Comparison compare_runs(const std::vector<RunFolder>& runs, const ComparisonChoice& choice);

}  // namespace seam::host
