/// Stage `metric.verification`: how well distances show whether two images are of the same person.
///
///     embedding, same, (pair_folds) ──► [ metric.verification ] ──► metrics, report, ROC, outcomes
///     rows 2k and 2k + 1: a pair
#pragma once

#include <seam/reference.hpp>
#include <seam/retrieval.hpp>
#include <seam/tensor.hpp>

#include "stages/export/exported_file.hpp"
#include "stages/metric/verification_report.hpp"
#include "stages/served_items.hpp"

namespace seam::field {

/// Rows 2k and 2k+1 are a pair: the fold that both are in, from 0.
inline constexpr Field<Tensor> pair_folds{"pair_folds", "i64[N]"};

}  // namespace seam::field

namespace seam::stages {

/// Reports `accuracy`, at the threshold selected on the other folds, with `.standard_error`;
/// `accuracy_at_margin`, `eer`, `auc`, `tar@FAR` for each FAR; fractions. And `pairs`, their
/// number.
class Verification final : public Compute<Sink> {
 public:
  static constexpr std::string_view name = "metric.verification";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;

 private:
  void check_rows(const Packet& packet, std::size_t first, const std::int64_t* same,
                  const std::int64_t* folds) const;
  /// Throws if the pair's images a and b are the same, or the pair occurred before.
  void check_once(const Packet& packet, std::size_t first, std::string a, std::string b);
  /// Throws if a reported pair shows a person on whom the model was trained.
  void check_unseen(const Packet& packet, std::size_t first, const std::int64_t* folds) const;
  void write_curve(const VerificationResult& result, const Context& context) const;

  VerificationSettings settings_;
  std::string protocol_;
  std::int64_t folds_ = 10;
  std::filesystem::path folder_ = "verification";
  Ref<ServedItems> trained_on_;

  OneFlow flow_;
  std::vector<ScoredPair> pairs_;
  std::vector<PairNames> names_;                        // of pairs_
  std::set<std::pair<std::string, std::string>> seen_;  // pairs of images, the lesser first
  std::optional<bool> has_folds_;                       // after the first batch
  retrieval::InputSize input_;
};

}  // namespace seam::stages
