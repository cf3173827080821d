#include "pipeline/config/untrained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "pipeline/config/initial_weights.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

bool has(const std::vector<FieldInfo>& fields, std::string_view name) {
  return contains(fields, name, &FieldInfo::name);
}

const Description& description_at(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                  std::size_t node) {
  return pipeline.stages.at(flow.nodes[node].stage)->description();
}

/// The nearest stage before a node that provides the field.
std::optional<std::size_t> provider(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                    std::size_t node, std::string_view field) {
  const std::vector<std::size_t> upstream = upstream_of(flow, node);
  const auto found = std::find_if(upstream.rbegin(), upstream.rend(), [&](std::size_t at) {
    return has(description_at(pipeline, flow, at).provides, field);
  });
  return found == upstream.rend() ? std::nullopt : std::optional(*found);
}

bool imports_weights(const CheckedPipeline& pipeline, const std::string& model) {
  const StageSpec* stage = find_in(pipeline.spec.stages, model, &StageSpec::name);
  return stage != nullptr &&
         !initial_weights(*stage, pipeline.stages.at(model)->description()).empty();
}

/// Whether the file sets the parameter `weight` of a stage, such as a loss, to 0.
bool is_off(const CheckedPipeline& pipeline, const std::string& name) {
  const StageSpec* stage = find_in(pipeline.spec.stages, name, &StageSpec::name);
  if (stage == nullptr) return false;
  const auto weight = stage->values.find("weight");
  if (weight == stage->values.end()) return false;
  const auto* const number = std::get_if<double>(&weight->second);
  return number != nullptr && *number == 0;
}

bool is_loss_of(const Description& stage, std::string_view scores) {
  return has(stage.provides, field_name::loss) &&
         (has(stage.needs, scores) || has(stage.accepts, scores));
}

enum class Training { none, of_other_fields, of_scores };

/// How the training flows use the model's class scores.
Training training_of(const CheckedPipeline& pipeline, const std::string& model,
                     std::string_view scores) {
  Training found = Training::none;
  for (const FlowSpec* flow : flows_that_run(pipeline.spec)) {
    if (!trains(pipeline, *flow)) continue;
    for (std::size_t at = 0; at < flow->nodes.size(); ++at) {
      const std::string& stage = flow->nodes[at].stage;
      if (stage == model) found = std::max(found, Training::of_other_fields);
      if (!is_loss_of(description_at(pipeline, *flow, at), scores) || is_off(pipeline, stage)) {
        continue;
      }
      const auto from = provider(pipeline, *flow, at, scores);
      if (from && flow->nodes[*from].stage == model) return Training::of_scores;
    }
  }
  return found;
}

/// The scores that a model's prediction depends on, or `field` itself if it has scores.
std::optional<std::string_view> scores_of(const Description& model, std::string_view field) {
  if (contains(class_scores, field)) return field;
  const auto scores = std::ranges::find_if(
      class_scores, [&](std::string_view one) { return has(model.provides, one); });
  return scores == class_scores.end() ? std::nullopt : std::optional(*scores);
}

/// Whether a stage of the flow reads a field of class scores that nothing trains.
std::optional<UntrainedField> untrained_at(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                           std::size_t node, std::string_view field) {
  if (!has(description_at(pipeline, flow, node).needs, field)) return std::nullopt;
  const auto from = provider(pipeline, flow, node, field);
  if (!from) return std::nullopt;
  const std::string& name = flow.nodes[*from].stage;
  const auto scores = scores_of(description_at(pipeline, flow, *from), field);
  if (!scores || imports_weights(pipeline, name)) return std::nullopt;
  if (training_of(pipeline, name, *scores) != Training::of_other_fields) return std::nullopt;
  return UntrainedField{flow.name, flow.nodes[node].stage, std::string(field), name,
                        std::string(*scores)};
}

}  // namespace

std::vector<UntrainedField> untrained_fields(const CheckedPipeline& pipeline) {
  std::vector<UntrainedField> found;
  for (const FlowSpec* flow : flows_that_run(pipeline.spec)) {
    if (trains(pipeline, *flow)) continue;
    for (std::size_t at = 0; at < flow->nodes.size(); ++at) {
      for (const std::string_view field :
           {field_name::predicted_category, field_name::class_lengths, field_name::logits}) {
        if (auto untrained = untrained_at(pipeline, *flow, at, field)) found.push_back(*untrained);
      }
    }
  }
  return found;
}

std::string to_text(const UntrainedField& untrained) {
  if (untrained.field == untrained.scores) {
    return fmt::format("{} reads {} of {}, which no loss trains", untrained.stage, untrained.field,
                       untrained.model);
  }
  return fmt::format("{} reads {}, but no loss trains {} of {}", untrained.stage, untrained.field,
                     untrained.scores, untrained.model);
}

}  // namespace seam::host
