/// The score of a run: for each headline metric of a stage, the newest and the best value so far.
///
///     a flow ends ──► means over it ──► headline metrics ──────────► Scores ──► score.json, table
///     metrics.jsonl of a resumed run ───────────────────────────────┘
///
/// The scores are in order of importance: the metric of `stop_early` first, then flows that do not
/// train before those that do, then the order in which a stage declares its headline metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/config/load.hpp"
#include "pipeline/run/labels_read.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/run/selection.hpp"

namespace seam::host {

struct Score {
  std::string metric;  ///< "stage.metric"
  double value = 0;    ///< mean over the flow that recorded it last; may be NaN or infinite
  std::optional<double> standard_error;
  Better better = Better::higher;
  std::string flow;
  std::int64_t epoch = 0;  ///< from 0, when the value was recorded
  std::string when;        ///< "before" or "after" the epochs; empty in them
  struct Best {
    double value = 0;
    std::int64_t epoch = 0;

    friend bool operator==(const Best&, const Best&) = default;
  };
  std::optional<Best> best;  ///< none if all values were NaN
  std::string protocol;      ///< protocol_of() its stage; may be empty
  /// How the epoch with the evaluated weights was selected: the worst of `weights`.
  SelectedOn selected_on = SelectedOn::last;
  std::vector<SelectedWeights> weights;  ///< imported weights that were or may have been selected
  /// Another value of the metric, on the same data, that the score should be better than.
  struct Beside {
    std::string name;  ///< "chance", "before" (before the first epoch), or a floor's stage
    double value = 0;
    std::optional<double> standard_error;

    friend bool operator==(const Beside&, const Beside&) = default;
  };
  std::vector<Beside> beside;
  std::vector<LabelRead> labels_read;     ///< by the stages of its flow, which does not train
  std::vector<UntrainedField> untrained;  ///< untrained predictions that its flow reads

  friend bool operator==(const Score&, const Score&) = default;
};

class Scores {
 public:
  /// The pipeline outlives this object.
  explicit Scores(const CheckedPipeline& pipeline) : pipeline_(pipeline) {}

  /// Sets the initial weights that were selected by a metric; before any flow is added.
  void began_with(std::vector<ChosenWeights> chosen) { chosen_ = std::move(chosen); }

  /// Adds the means of a flow that has ended. Returns whether there was a headline metric. `when`:
  /// as in Score.
  bool flow_ended(const std::string& flow, std::int64_t epoch, const std::string& when,
                  const FlowMeans& means);
  /// Adds the flows in the first `size` bytes of a metrics.jsonl. Throws seam::Error (data) if it
  /// is shorter or has an invalid line.
  void restore(const std::filesystem::path& metrics, std::uint64_t size);

  /// The most important first; without those of floors, which are in `beside` of the others.
  [[nodiscard]] std::vector<Score> list() const;
  /// The floors without a score to compare with: none has the same metric, data and protocol. Empty
  /// if there are no scores.
  [[nodiscard]] std::vector<std::string> lone_floors() const;

 private:
  /// The sort key of the scores; see above.
  using Rank = std::tuple<int, std::size_t, std::size_t, std::size_t, std::string>;

  void note(const Rank& rank, Score score);
  [[nodiscard]] bool is_floor(const Score& score) const;
  /// A text that two scores must share to be compared: metric, data and protocol.
  [[nodiscard]] std::string kind_of(const Score& score);

  /// The images that the flow evaluates; computed once, because it reads lists.
  const std::string& data_of(const FlowSpec& flow);

  const CheckedPipeline& pipeline_;
  std::vector<ChosenWeights> chosen_;
  std::map<std::string, std::string> data_;                                   // by flow
  std::map<std::pair<std::string, std::string>, std::string> compared_data_;  // by flow and stage
  std::map<Rank, Score> scores_;
  std::map<Rank, Score> before_;       // of scores_: those measured before the epochs
  std::map<Rank, std::string> kinds_;  // of scores_, if there are floors
};

/// NaN is never better, and any number is better than NaN.
[[nodiscard]] bool is_better(double value, double than, Better better);

/// The headline metrics that a flow recorded, the most important first.
std::vector<std::string> headlines_of(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                      const FlowMeans& means);

/// Returns whether the score is better than this value by two standard errors of their difference,
/// assuming that the two are independent. For the same queries they are not, so the test is
/// conservative.
[[nodiscard]] bool is_clearly_better(const Score& score, const Score::Beside& beside);

/// The content of score.json.
std::string score_json(const std::vector<Score>& scores);
/// Reads a score.json; values that were not finite become NaN. Throws seam::Error (data) if the
/// file is invalid, or has a format that this version does not know.
std::vector<Score> read_scores(const std::filesystem::path& file);

}  // namespace seam::host
