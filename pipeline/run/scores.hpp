/// The score of a run: for each metric that a stage declares a headline, the newest value and the
/// best one so far.
///
///     a flow ends ──► means over it ──► those that are headlines ──► Scores ──► score.json, table
///     metrics.jsonl of a resumed run ───────────────────────────────┘
///
/// The order is that of importance: the metric that `stop_early` watches, then flows that do not
/// train before those that do, then the order in which a stage declares its headlines.
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
  double value = 0;    ///< the mean over the flow that recorded it last; may be not finite
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
  std::optional<Best> best;  ///< none where no value was a number
  std::string protocol;      ///< the stage's parameter of that name; may be empty
  /// How the epoch was chosen whose weights were measured: what is worst of `weights`.
  SelectedOn selected_on = SelectedOn::last;
  std::vector<SelectedWeights> weights;  ///< imported ones that were chosen, or may have been
  /// Another value of the metric, on the same data, that the score should be better than.
  struct Beside {
    std::string name;  ///< "chance", "before" (the first epoch), or a floor's stage
    double value = 0;
    std::optional<double> standard_error;

    friend bool operator==(const Beside&, const Beside&) = default;
  };
  std::vector<Beside> beside;
  std::vector<LabelRead> labels_read;     ///< by the stages of its flow, which does not train
  std::vector<UntrainedField> untrained;  ///< predictions that its flow reads and nothing trains

  friend bool operator==(const Score&, const Score&) = default;
};

class Scores {
 public:
  /// The pipeline is the caller's and outlives this.
  explicit Scores(const CheckedPipeline& pipeline) : pipeline_(pipeline) {}

  /// What the weights of the run began with, where that was chosen; before any flow is taken up.
  void began_with(std::vector<ChosenWeights> chosen) { chosen_ = std::move(chosen); }

  /// Takes up what a flow recorded, to its end; true: a headline was among it. `when` as in Score.
  bool flow_ended(const std::string& flow, std::int64_t epoch, const std::string& when,
                  const FlowMeans& means);
  /// Takes up the flows in the first `size` bytes of a metrics.jsonl. Throws seam::Error (data)
  /// where it is shorter or a line is not one that a run wrote.
  void restore(const std::filesystem::path& metrics, std::uint64_t size);

  /// The most important first; without those of floors, which stand beside the others.
  [[nodiscard]] std::vector<Score> list() const;
  /// The floors that stand beside no score: none is of the same metric, data and protocol. Empty
  /// without scores.
  [[nodiscard]] std::vector<std::string> lone_floors() const;

 private:
  /// What the scores are sorted by; see above.
  using Rank = std::tuple<int, std::size_t, std::size_t, std::size_t, std::string>;

  void note(const Rank& rank, Score score);
  [[nodiscard]] bool is_floor(const Score& score) const;
  /// What two values must share if one stands beside the other: what is measured, and on what.
  [[nodiscard]] std::string kind_of(const Score& score);

  /// On which pictures the flow measures; looked up once, since it reads lists.
  const std::string& data_of(const FlowSpec& flow);

  const CheckedPipeline& pipeline_;
  std::vector<ChosenWeights> chosen_;
  std::map<std::string, std::string> data_;                                   // by flow
  std::map<std::pair<std::string, std::string>, std::string> compared_data_;  // by flow and stage
  std::map<Rank, Score> scores_;
  std::map<Rank, Score> before_;       // of scores_: what was measured before the epochs
  std::map<Rank, std::string> kinds_;  // of scores_, if there are floors
};

/// NaN is never better, and any number is better than NaN.
[[nodiscard]] bool is_better(double value, double than, Better better);

/// The headlines of a flow's stages that it recorded, the most important first.
std::vector<std::string> headlines_of(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                      const FlowMeans& means);

/// Whether the score is better than this value by two standard errors of their difference, the two
/// being taken as independent. Of the same queries they are not: it errs on the side of "no".
[[nodiscard]] bool is_clearly_better(const Score& score, const Score::Beside& beside);

/// The content of score.json.
std::string score_json(const std::vector<Score>& scores);
/// Reads a score.json; a value that was not finite comes back as NaN. Throws seam::Error (data)
/// where it is none, or of a format that this version does not know.
std::vector<Score> read_scores(const std::filesystem::path& file);

}  // namespace seam::host
