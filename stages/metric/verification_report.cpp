#include "stages/metric/verification_report.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

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

std::string percent_with_error(const MeanOfFolds& accuracy) {
  return percent(accuracy.mean) +
         (accuracy.standard_error ? " ± " + percent(*accuracy.standard_error) : "");
}

/// Sets of connected people (union-find); each set has the first of its names.
class Acquaintances {
 public:
  void join(const std::string& a, const std::string& b) {
    const std::string_view first = name_of(a);
    const std::string_view second = name_of(b);
    if (first == second) return;
    const auto& [lesser, greater] = std::minmax(first, second);
    called_.insert_or_assign(greater, lesser);
  }

  [[nodiscard]] std::string_view name_of(std::string_view person) {
    for (;;) {
      std::string_view& called = called_.try_emplace(person, person).first->second;
      if (called == person) return person;
      called = called_.at(called);  // shortens the path for the next time
      person = called;
    }
  }

 private:
  std::map<std::string_view, std::string_view> called_;
};

std::string person_of(const Packet& batch, std::size_t row) {
  if (batch.has(field::items) && row < batch[field::items].size() &&
      !batch[field::items][row].empty()) {
    return batch[field::items][row];
  }
  const bool named = batch.has(field::origins) && row < batch[field::origins].size();
  return named ? batch[field::origins][row].item : std::string();
}

/// The contribution of a correctly classified pair to `accuracy`, by fold.
std::map<std::int64_t, double> weights_of(std::span<const FoldAccuracy> folds) {
  std::int64_t pairs = 0;
  for (const FoldAccuracy& fold : folds) pairs += fold.pairs;
  std::map<std::int64_t, double> weights;
  for (const FoldAccuracy& fold : folds) {
    weights[fold.fold] = static_cast<double>(pairs) /
                         (static_cast<double>(folds.size()) * static_cast<double>(fold.pairs));
  }
  return weights;
}

}  // namespace

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

std::string verification_table(const VerificationResult& result,
                               const VerificationSettings& settings, const std::string& protocol) {
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
  for (const auto& [far, tar] : result.tar) row("TAR at FAR " + text_of(far), percent(tar));
  const auto most = std::max(roc.same, roc.different);
  text += "\nPercent, except for the area. Always giving the most frequent answer has " +
          percent(static_cast<double>(most) / static_cast<double>(roc.same + roc.different)) +
          " %.";
  if (result.accuracy.standard_error) text += " ±: standard error over the folds.";
  if (result.tar.size() < settings.far.size()) {
    text += " A FAR is omitted if it allows less than one of " + counted(roc.different, "pair") +
            " of two persons.";
  }
  return text + "\n\nProtocol: `" + protocol + "`.\n";
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

PairNames pair_names(const Packet& batch, std::size_t first) {
  const std::string a = observation_name(batch, first);
  const std::string b = observation_name(batch, first + 1);
  PairNames names{{}, person_of(batch, first), person_of(batch, first + 1)};
  if (!a.empty() && !b.empty()) names.observation = a + " and " + b;
  return names;
}

PairOutcomes outcomes_of(std::span<const ScoredPair> pairs, std::span<const PairNames> names,
                         const VerificationResult& result, const VerificationSettings& settings) {
  PairOutcomes all;
  if (!result.folds.empty()) all.metrics.emplace_back("accuracy");
  if (result.at_margin) all.metrics.emplace_back("accuracy_at_margin");
  const std::map<std::int64_t, double> weights = weights_of(result.folds);
  std::map<std::int64_t, double> thresholds;
  for (const FoldAccuracy& fold : result.folds) thresholds[fold.fold] = fold.threshold.distance;
  Acquaintances people;
  std::vector<const PairNames*> reported;
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const ScoredPair& pair = pairs[at];
    if (settings.fold && pair.fold != *settings.fold) continue;
    const auto right = [&](double threshold) { return (pair.distance <= threshold) == pair.same; };
    Outcome outcome{names[at].observation, {}, {}};
    if (!result.folds.empty()) {
      outcome.values.emplace_back(right(thresholds.at(pair.fold)) ? weights.at(pair.fold) : 0.0);
    }
    if (result.at_margin) {
      const double margin = ranked_margin(*settings.margin, settings.distance);
      outcome.values.emplace_back(right(margin) ? 1.0 : 0.0);
    }
    all.outcomes.push_back(std::move(outcome));
    reported.push_back(&names[at]);
    if (!names[at].first.empty() && !names[at].second.empty()) {
      people.join(names[at].first, names[at].second);
    }
  }
  for (std::size_t at = 0; at < reported.size(); ++at) {
    const PairNames& name = *reported[at];
    const bool known = !name.first.empty() && !name.second.empty();
    all.outcomes[at].cluster = known ? people.name_of(name.first) : name.observation;
  }
  return all;
}

}  // namespace seam::stages
