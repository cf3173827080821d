/// Which stages read a picture's labels where nothing is trained: a result that depends on them
/// tells what a model finds when it is told the answer's category.
///
///     queries ──► model ──► search ──► recall
///                             └─ reads `categories`: under mask ground_truth
///
/// The labels are `category` and `categories`. That a metric or a loss compares with the truth is
/// its purpose and is not listed, and neither are items, which are what is searched for.
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

/// Of the flows in the schedule that do not train, each once: stages that declare reads_label(),
/// and those that need a label and provide something else than a loss.
[[nodiscard]] std::vector<LabelRead> labels_read(const CheckedPipeline& pipeline);

/// "evaluate reads labels: categories in search\n", a line each; empty where none are read.
[[nodiscard]] std::string labels_text(const std::vector<LabelRead>& reads);

}  // namespace seam::host
