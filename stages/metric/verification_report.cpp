#include "stages/metric/verification_report.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "stages/counted.hpp"
#include "stages/decimals.hpp"
#include "stages/export/csv.hpp"

namespace seam::stages {
namespace {

std::string exact(double value) {
  std::string text(32, '\0');
  const int length = std::snprintf(text.data(), text.size(), "%.17g", value);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string distance_name(VerificationDistance distance) {
  switch (distance) {
    case VerificationDistance::euclidean:
      return "Euclidean distance";
    case VerificationDistance::cosine:
      return "cosine distance, 1 - cos";
    default:
      return "distance 1 - exp(-|a - b|₁)";
  }
}

std::string named(const std::string& text) {
  return text.empty() ? "unnamed" : text;
}

std::string percent_with_error(const MeanOfFolds& accuracy) {
  return percent(accuracy.mean) +
         (accuracy.standard_error ? " ± " + percent(*accuracy.standard_error) : "");
}

}  // namespace

std::string far_text(double far) {
  return text_of(far);
}

VerificationResult verify(const std::vector<ScoredPair>& pairs,
                          const VerificationSettings& settings) {
  VerificationResult result;
  const bool one_fold = std::all_of(pairs.begin(), pairs.end(), [&](const ScoredPair& pair) {
    return pair.fold == pairs.front().fold;
  });
  if (!one_fold || settings.fold) {
    result.folds = cross_validated(pairs, settings.fold);
    result.accuracy = mean_of(result.folds);
  }
  std::vector<ScoredPair> reported;
  std::copy_if(
      pairs.begin(), pairs.end(), std::back_inserter(reported),
      [&](const ScoredPair& pair) { return !settings.fold || pair.fold == *settings.fold; });
  result.roc = roc_of(reported);
  result.auc = area_under(result.roc);
  result.eer = equal_error_rate(result.roc);
  for (const double far : settings.far) {
    if (const auto tar = tar_at_far(result.roc, far)) result.tar.emplace_back(far, *tar);
  }
  if (settings.margin) {
    result.at_margin = accuracy_at(reported, ranked_margin(*settings.margin, settings.distance));
  }
  return result;
}

std::string to_text(const VerificationProtocol& protocol) {
  return named(protocol.name) + "/images=" + named(protocol.images) +
         "/alignment=" + named(protocol.alignment) +
         "/outside-data=" + named(protocol.outside_data);
}

std::string verification_table(const VerificationResult& result,
                               const VerificationSettings& settings,
                               const VerificationProtocol& protocol) {
  const Roc& roc = result.roc;
  std::string text = counted(roc.same + roc.different, "pair") + ", " + grouped(roc.same) +
                     " of one person and " + grouped(roc.different) + " of two, by " +
                     distance_name(settings.distance) + ".\n\n| | result |\n|---|---:|\n";
  const auto row = [&](const std::string& what, const std::string& value) {
    text += "| " + what + " | " + value + " |\n";
  };
  if (!result.folds.empty()) {
    row(settings.fold
            ? "accuracy on fold " + std::to_string(*settings.fold) +
                  ", threshold of the other folds"
            : "accuracy, threshold of the other folds, " + counted(result.folds.size(), "fold"),
        percent_with_error(result.accuracy));
  }
  if (result.at_margin) {
    row("accuracy at the margin " + text_of(*settings.margin), percent(*result.at_margin));
  }
  row("equal error rate", percent(result.eer));
  row("area under the ROC curve", with_decimals(result.auc, 4));
  for (const auto& [far, tar] : result.tar) row("TAR at FAR " + far_text(far), percent(tar));
  const auto most = std::max(roc.same, roc.different);
  text += "\nPercent, except for the area. Always giving the most frequent answer has " +
          percent(static_cast<double>(most) / static_cast<double>(roc.same + roc.different)) +
          " %.";
  if (result.accuracy.standard_error) text += " ±: standard error over the folds.";
  if (result.tar.size() < settings.far.size()) {
    text += " A FAR is omitted if it allows less than one of " + counted(roc.different, "pair") +
            " of two persons.";
  }
  return text + "\n\nProtocol: `" + to_text(protocol) + "`.\n";
}

std::string fold_table(const VerificationResult& result, VerificationDistance distance) {
  std::string text =
      "| fold | pairs | threshold | accuracy on the other folds | accuracy |\n"
      "|---:|---:|---:|---:|---:|\n";
  for (const FoldAccuracy& fold : result.folds) {
    text += "| " + std::to_string(fold.fold) + " | " + grouped(fold.pairs) + " | " +
            text_of(shown_distance(fold.threshold.distance, distance)) + " | " +
            percent(fold.threshold.accuracy) + " | " + percent(fold.accuracy) + " |\n";
  }
  return text + "\nEach threshold is the best one on all other folds.\n";
}

std::string roc_csv(const Roc& roc, VerificationDistance distance) {
  std::string text = csv_line({"distance", "false_accepts", "true_accepts", "far", "tar"});
  for (const RocPoint& point : corners(roc)) {
    const bool nothing = point.true_accepts + point.false_accepts == 0;
    text += csv_line({nothing ? "" : exact(shown_distance(point.distance, distance)),
                      std::to_string(point.false_accepts), std::to_string(point.true_accepts),
                      exact(roc.far(point)), exact(roc.tar(point))});
  }
  return text;
}

}  // namespace seam::stages
