/// Stages that read an image's labels in flows that do not train: a result that depends on them
/// shows what a model finds when it is given the category of the answer.
///
///     queries ──► model ──► search ──► recall
///                             └─ reads `categories`: under mask ground_truth
///
/// The labels are `category` and `categories`. Metrics and losses, which compare with the ground
/// truth by design, are not listed. Items are not labels here, because they are what is retrieved.
#pragma once

#include <string>
#include <vector>

namespace seam::host {

struct CheckedPipeline;

struct LabelRead {
  std::string flow;
  std::string stage;
  std::string field;

  friend bool operator==(const LabelRead&, const LabelRead&) = default;
};

/// For the scheduled flows that do not train, each once: stages that declare reads_label(), and
/// those that need a label and provide something other than a loss.
[[nodiscard]] std::vector<LabelRead> labels_read(const CheckedPipeline& pipeline);

/// "evaluate reads labels: categories in search\n", one line each; empty if no labels are read.
[[nodiscard]] std::string labels_text(const std::vector<LabelRead>& reads);

}  // namespace seam::host
