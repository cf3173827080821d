/// How the epoch with the evaluated weights was selected. The best of many epochs on a list is
/// better on this list than on another one, so a score for the list used for selection is biased
/// upwards.
///
///     run with `keep` or `stop_early` ──► checkpoint: seam.best_by, its metric and images
///                                              │ weights = RUN
///     run that evaluates ◄─────────────────────┘
///        same images: selected_on = test     other images: val     the newest epoch: last
///
/// Selected weights count as selected after further training too: checkpoints pass this on
/// (seam.chosen).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

struct CheckedPipeline;
struct WeightsFile;

enum class Purpose : std::uint8_t { measures, trains };

/// The rule that selects an epoch.
struct Choice {
  std::string metric;  ///< "stage.metric"
  std::string flow;    ///< that records it; empty: written by a version of Seam without this value
  Purpose purpose = Purpose::measures;
  std::string protocol;  ///< protocol_of() its stage; may be empty
  std::string data;      ///< measured_data() of the flow

  friend bool operator==(const Choice&, const Choice&) = default;
};

/// The value of the stage's parameter with the role ParameterRole::protocol; empty if it has none.
[[nodiscard]] std::string protocol_of(const CheckedPipeline& pipeline, const std::string& stage);

/// Weights that a stage of the run imported from a checkpoint.
struct ChosenWeights {
  std::string stage;
  std::string file;          ///< the checkpoint
  std::optional<Choice> by;  ///< none: unknown

  friend bool operator==(const ChosenWeights&, const ChosenWeights&) = default;
};

/// The data of the selection; the greatest value is the worst.
enum class SelectedOn : std::uint8_t {
  last,     ///< not selected by a metric
  train,    ///< by a metric of a flow that trains
  val,      ///< by a metric on other images, according to the parameters of their sources
  unknown,  ///< not recorded
  test,     ///< by a metric on the same images
};

/// Selected weights, for a score.
struct SelectedWeights {
  std::string stage;
  std::string file;
  std::string metric;  ///< "flow:stage.metric"; empty: not known
  std::string protocol;
  SelectedOn selected_on = SelectedOn::unknown;

  friend bool operator==(const SelectedWeights&, const SelectedWeights&) = default;
};

/// The images that a flow reads, as a text that is equal for equal images: the types and parameters
/// of its sources, with hashes of files. Folders count only for sources without a file.
[[nodiscard]] std::string measured_data(const CheckedPipeline& pipeline, const FlowSpec& flow);
/// The same, with the images of the flows that fill stages on which `stage` depends, such as a
/// gallery, and with the parameters of samplers and of the stages that search there.
std::string compared_data(const CheckedPipeline& pipeline, const FlowSpec& flow,
                          const std::string& stage);

/// The rule that selects the run's best epoch: `keep`, or else `stop_early`; nullopt if neither
/// does.
[[nodiscard]] std::optional<Choice> rule_of(const CheckedPipeline& pipeline);

/// The initial weights of these open stages that were selected by a metric, or may have been.
/// Without the newest checkpoint of a run and files of other programs. Throws what read_weights()
/// throws.
[[nodiscard]] std::vector<ChosenWeights> imported_choices(const CheckedPipeline& pipeline,
                                                          std::span<const std::string> stages);

/// How the weights of a run were selected: "best by evaluate:recall.r@1", or "last".
[[nodiscard]] std::string selection_of(const WeightsFile& file);

/// `data`: measured_data() of the flow that evaluates.
[[nodiscard]] std::vector<SelectedWeights> selected(const std::vector<ChosenWeights>& chosen,
                                                    const std::string& data);

/// "test"
[[nodiscard]] std::string_view word_of(SelectedOn selected_on);
/// Parses such a word; SelectedOn::unknown for any other word.
[[nodiscard]] SelectedOn selected_on_from(std::string_view word);
[[nodiscard]] Json to_json(const std::vector<SelectedWeights>& weights);
/// Parses such a JSON value. Throws Json::exception.
[[nodiscard]] std::vector<SelectedWeights> selected_weights_from(const Json& json);

/// As values of the metadata: JSON, with non-ASCII characters percent-encoded.
[[nodiscard]] std::string text_of(const Choice& choice);
[[nodiscard]] std::string text_of(const std::vector<ChosenWeights>& chosen);
/// Parse such a text. Throw seam::Error if it is invalid.
[[nodiscard]] Choice choice_from(const std::string& text);
[[nodiscard]] std::vector<ChosenWeights> chosen_weights_from(const std::string& text);

}  // namespace seam::host
