/// Finds evaluations of class scores or of a prediction that nothing trains. A model predicts a
/// category by its `class_lengths` or `logits`; if no loss reads them, the prediction is a guess,
/// and so is every result that depends on it.
///
///     train     model ──► loss.triplet            reads `embedding`: class_lengths stay untrained
///     evaluate  model ──► search                  mask "predicted" reads `predicted_category`
#pragma once

#include <array>
#include <string>
#include <vector>

#include "seam/field.hpp"

namespace seam::host {

struct CheckedPipeline;

/// The fields with a score for each class.
inline constexpr std::array class_scores{field_name::class_lengths, field_name::logits};

struct UntrainedField {
  std::string flow;    ///< which evaluates
  std::string stage;   ///< which reads the field
  std::string field;   ///< "predicted_category", or the scores themselves
  std::string model;   ///< which provides it
  std::string scores;  ///< the scores that the prediction depends on: "class_lengths"

  friend bool operator==(const UntrainedField&, const UntrainedField&) = default;
};

/// Covers the scheduled flows that do not train, and only models that this pipeline trains from the
/// start: the losses of imported `weights` are unknown.
[[nodiscard]] std::vector<UntrainedField> untrained_fields(const CheckedPipeline& pipeline);

/// "search reads predicted_category, but no loss trains class_lengths of model"
[[nodiscard]] std::string to_text(const UntrainedField& untrained);

}  // namespace seam::host
