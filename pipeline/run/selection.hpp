/// How the epoch was chosen whose weights are measured. The best of many epochs on a list is better
/// on that list than on another one, so a score that was chosen on its own list is biased upwards.
///
///     run with `keep` or `stop_early` ──► checkpoint: seam.best_by, which metric on which pictures
///                                              │ weights = RUN
///     run that measures ◄──────────────────────┘
///        same pictures: selected_on = test     others: val     of the newest epoch: last
///
/// What was chosen stays so through later trainings: checkpoints hand it on (seam.chosen).
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

enum class Purpose : std::uint8_t { measures, trains };

/// What chooses an epoch.
struct Choice {
  std::string metric;  ///< "stage.metric"
  std::string flow;    ///< that records it; empty: a version of Seam that did not say it
  Purpose purpose = Purpose::measures;
  std::string protocol;  ///< the stage's parameter of that name; may be empty
  std::string data;      ///< measured_data() of the flow

  friend bool operator==(const Choice&, const Choice&) = default;
};

/// The stage's parameter `protocol`, in which it says what its numbers may be compared with; empty
/// where it has none.
[[nodiscard]] std::string protocol_of(const CheckedPipeline& pipeline, const std::string& stage);

/// Weights that a stage of the run imported from a checkpoint.
struct ChosenWeights {
  std::string stage;
  std::string file;          ///< the checkpoint
  std::optional<Choice> by;  ///< none: nothing says why

  friend bool operator==(const ChosenWeights&, const ChosenWeights&) = default;
};

/// The worst is the greatest.
enum class SelectedOn : std::uint8_t {
  last,     ///< nothing was chosen by a metric
  train,    ///< by a metric of a flow that trains
  val,      ///< by a metric on other pictures, as far as their sources' parameters say
  unknown,  ///< by what nobody wrote down
  test,     ///< by a metric on the same pictures
};

/// Chosen weights as a score sees them.
struct SelectedWeights {
  std::string stage;
  std::string file;
  std::string metric;  ///< "flow:stage.metric"; empty: not known
  std::string protocol;
  SelectedOn selected_on = SelectedOn::unknown;

  friend bool operator==(const SelectedWeights&, const SelectedWeights&) = default;
};

/// The pictures that a flow begins with, as a text that is equal for equal ones: what its sources
/// are and their parameters, files by their content. Folders count only where no file says more.
[[nodiscard]] std::string measured_data(const CheckedPipeline& pipeline, const FlowSpec& flow);
/// The same, on which pictures the flows run that fill what `stage` of the flow depends on, such as
/// a gallery, and how the stages are set that look there.
std::string compared_data(const CheckedPipeline& pipeline, const FlowSpec& flow,
                          const std::string& stage);

/// What chooses the run's best epoch, by `keep` or else `stop_early`; none: nothing does.
[[nodiscard]] std::optional<Choice> rule_of(const CheckedPipeline& pipeline);

/// What these stages, those that the run has opened, import where it begins, where it was chosen or
/// may have been: not the newest checkpoint of a run, and not a file of another program. Throws
/// what read_weights() throws.
[[nodiscard]] std::vector<ChosenWeights> imported_choices(const CheckedPipeline& pipeline,
                                                          std::span<const std::string> stages);

/// `data`: measured_data() of the flow that measures.
[[nodiscard]] std::vector<SelectedWeights> selected(const std::vector<ChosenWeights>& chosen,
                                                    const std::string& data);

/// "test"
[[nodiscard]] std::string_view word_of(SelectedOn selected_on);
/// Takes that back; another word is not known.
[[nodiscard]] SelectedOn selected_on_from(std::string_view word);
[[nodiscard]] Json to_json(const std::vector<SelectedWeights>& weights);
/// Takes that back. Throws Json::exception.
[[nodiscard]] std::vector<SelectedWeights> selected_weights_from(const Json& json);

/// As values of metadata: JSON, percent-encoded where it is not ASCII.
[[nodiscard]] std::string text_of(const Choice& choice);
[[nodiscard]] std::string text_of(const std::vector<ChosenWeights>& chosen);
/// Take that back. Throw seam::Error for another text.
[[nodiscard]] Choice choice_from(const std::string& text);
[[nodiscard]] std::vector<ChosenWeights> chosen_weights_from(const std::string& text);

}  // namespace seam::host
