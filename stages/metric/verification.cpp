#include "stages/metric/verification.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "stages/counted.hpp"
#include "stages/picture_paths.hpp"
#include "stages/report/drawn_set.hpp"
#include "stages/same.hpp"

namespace seam::stages {
namespace {

constexpr const char* remedy =
    "; rows 2k and 2k+1 of a batch are a pair: give each pair a `group` and a `group_size` of 2";

/// The equal error rate, and the area under the curve, of random distances.
constexpr double chance_level = 0.5;

/// Identifies the images of the rows: their files, their indices in the list, or their names; empty
/// if none is known.
std::vector<std::string> pictures_of(const Packet& packet, std::size_t rows) {
  std::vector<std::string> pictures = picture_files(packet, rows);
  if (!packet.has(field::origins)) return pictures;
  const std::vector<Origin>& origins = packet.get(field::origins);
  for (std::size_t row = 0; row < std::min(rows, origins.size()); ++row) {
    if (pictures[row].empty() && has_index(packet, row)) pictures[row] = place_in_list(packet, row);
    if (pictures[row].empty()) pictures[row] = origins[row].item;
  }
  return pictures;
}

std::string pair_name(const Packet& packet, std::size_t first) {
  return "the pair of " + row_name(packet, first) + " and " + row_name(packet, first + 1);
}

}  // namespace

void Verification::declare(Declaration& d) {
  d.doc(
      "Verification: decides by the distance of their embeddings whether two images show the same "
      "person. Reports accuracy at a threshold selected on other pairs, equal error rate, area "
      "under the ROC curve and true accept rates, over all pairs of a flow.");
  d.parameter("distance", settings_.distance,
              "distance between two embeddings: Euclidean; 1 minus the cosine; 1 minus exp of "
              "minus the Manhattan distance",
              {{"euclidean", VerificationDistance::euclidean},
               {"cosine", VerificationDistance::cosine},
               {"exp_manhattan", VerificationDistance::exp_manhattan}});
  d.parameter("margin", settings_.margin,
              "also report the accuracy with this distance as the threshold, such as the margin "
              "used in training (its square root for equation4 of loss.contrastive)")
      .range(0, 1e6);
  d.parameter("folds", folds_,
              "number of folds for pairs without `pair_folds`; pairs of each kind are distributed "
              "over the folds, and each fold's threshold is selected on the others. 1: no "
              "threshold is selected")
      .range(1, 1'000'000);
  d.parameter("fold", settings_.fold,
              "report only this fold, counted from 0: for a model that was trained on the others")
      .range(0, 999'999)
      .replicate("folds", std::int64_t{1});
  d.parameter("far", settings_.far,
              "false accept rates at which the true accept rate is reported, if there are enough "
              "pairs of two persons")
      .range(0, 1);
  d.parameter(
       "protocol", protocol_,
       "name of the pairs in the report, with everything that changes results: crop and "
       "alignment of the images, data used for training in addition to the data set; such as "
       "\"lfw-view-2/alignment=deep-funneled/outside-data=none\"")
      .protocol();
  d.parameter(
      "folder", folder_,
      "folder for the ROC curve, written as STAGE/epoch-0012/roc.csv; relative to the run folder");
  d.reference("trained_on", trained_on_,
              "the data set that the model is trained on: pairs with its people are rejected if "
              "they are reported, which with `fold` are those of that fold")
      .optional();
  d.needs(field::embedding);
  d.needs(field::same).doc("1 or 0, equal in rows 2k and 2k+1");
  d.accepts(field::pair_folds).doc("the folds of the list, equal in rows 2k and 2k+1");
  d.accepts(field::groups).doc("to reject rows that are not a pair");
  d.accepts(field::items).doc("to reject pairs for which `same` is wrong");
  d.accepts(field::indices)
      .doc("to tell boxes of one image apart, and to name pairs for `seam compare --paired`");
  d.accepts(field::origins).doc("to name a rejected image, and pairs");
  d.accepts(field::paths)
      .doc("to reject an image paired with itself, and a pair that occurs twice");
  d.accepts(field::images).doc("only their size, for the report");
  if (folds_ > 1 || settings_.fold) d.headline("accuracy", Better::higher);
  d.headline("eer", Better::lower);
  d.headline("auc", Better::higher);
}

void Verification::open(Context& /*context*/) {
  for (const double far : settings_.far) {
    if (far > 0) continue;
    throw Error("'far' has 0: rates must be above 0, such as 0.001", Fault::configuration);
  }
  std::sort(settings_.far.begin(), settings_.far.end(), std::greater<>());
  settings_.far.erase(std::unique(settings_.far.begin(), settings_.far.end()), settings_.far.end());
}

void Verification::begin(Context& context) {
  flow_.enter(context);
  pairs_.clear();
  names_.clear();
  seen_.clear();
  has_folds_.reset();
  input_ = {};
}

void Verification::check_rows(const Packet& packet, std::size_t first, const std::int64_t* same,
                              const std::int64_t* folds) const {
  const std::size_t second = first + 1;
  for (const std::size_t row : {first, second}) {
    if (same[row] == 0 || same[row] == 1) continue;
    throw Error("'same' of " + row_name(packet, row) + " is " + std::to_string(same[row]) +
                "; it must be 1 for a pair of one person, otherwise 0");
  }
  if (same[first] != same[second]) {
    throw Error("'same' differs in " + pair_name(packet, first) + remedy);
  }
  if (folds != nullptr && folds[first] != folds[second]) {
    throw Error("'pair_folds' differs in " + pair_name(packet, first) + remedy);
  }
  if (packet.has(field::groups)) {
    const auto& groups = packet.get(field::groups);
    if (groups[first] != groups[second]) {
      throw Error(pair_name(packet, first) + " belongs to groups " + std::to_string(groups[first]) +
                  " and " + std::to_string(groups[second]) + remedy);
    }
  }
  if (!packet.has(field::items)) return;
  const auto& items = packet.get(field::items);
  if (items[first].empty() || items[second].empty()) return;
  if ((items[first] == items[second]) == (same[first] == 1)) return;
  throw Error("'same' is " + std::to_string(same[first]) + " for " + pair_name(packet, first) +
              ", which show '" + items[first] + "' and '" + items[second] + "'");
}

void Verification::check_once(const Packet& packet, std::size_t first, std::string a,
                              std::string b) {
  if (a.empty() || b.empty()) return;
  if (a == b) {
    throw Error(row_name(packet, first) +
                    " is paired with itself, which any model accepts; evaluate pairs of "
                    "different images, such as those of sampling.pairs",
                Fault::configuration);
  }
  if (b < a) std::swap(a, b);
  if (seen_.emplace(std::move(a), std::move(b)).second) return;
  throw Error(pair_name(packet, first) +
                  " occurred before in this evaluation; evaluate each pair once, such as with "
                  "pairs = \"once\" or \"all\" of sampling.pairs",
              Fault::configuration);
}

void Verification::check_unseen(const Packet& packet, std::size_t first,
                                const std::int64_t* folds) const {
  if (!trained_on_) return;
  if (settings_.fold && folds != nullptr && folds[first] != *settings_.fold) return;
  for (const std::size_t row : {first, first + 1}) {
    const std::string item =
        packet.has(field::items) ? packet.get(field::items)[row] : std::string();
    const char* const fold = folds == nullptr ? ""
                             : settings_.fold
                                 ? ": hold out this fold there, or report the one held out"
                                 : ": report only the fold that it holds out, with `fold`";
    stages::check_unseen(*trained_on_, item,
                         item.empty() ? row_name(packet, row) : pair_name(packet, first),
                         std::string("measure people whom it leaves out") + fold, "whom");
  }
}

void Verification::process(const Packet& packet, Context& /*context*/) {
  const Tensor embedding = on_host(packet.get(field::embedding));
  const Tensor same = on_host(packet.get(field::same), torch::kInt64);
  const bool has_folds = packet.has(field::pair_folds);
  const Tensor folds = has_folds ? on_host(packet.get(field::pair_folds), torch::kInt64) : Tensor();
  const auto rows = static_cast<std::size_t>(embedding.size(0));
  const auto length = static_cast<std::size_t>(embedding.size(1));
  if (rows == 0) return;
  if (rows % 2 != 0) {
    throw Error("a batch has " + counted(rows, "row") + ", which is odd" + remedy);
  }
  if (has_folds_.value_or(has_folds) != has_folds) {
    throw Error("some pairs have a fold and others have none; use pairs of one list",
                Fault::configuration);
  }
  has_folds_ = has_folds;
  if (packet.has(field::images) && packet.get(field::images).dim() == 4) {
    const Tensor& images = packet.get(field::images);
    const retrieval::InputSize input{images.size(2), images.size(3)};
    input_ = pairs_.empty() ? input : retrieval::together(input_, input);
  }
  const auto* const labels = same.data_ptr<std::int64_t>();
  const auto* const fold_of_row = has_folds ? folds.data_ptr<std::int64_t>() : nullptr;
  const std::span<const float> values(embedding.data_ptr<float>(), rows * length);
  const std::vector<std::string> pictures = pictures_of(packet, rows);
  for (std::size_t first = 0; first < rows; first += 2) {
    check_rows(packet, first, labels, fold_of_row);
    check_once(packet, first, pictures[first], pictures[first + 1]);
    check_unseen(packet, first, fold_of_row);
    const auto a = values.subspan(first * length, length);
    const auto b = values.subspan((first + 1) * length, length);
    for (const std::size_t row : {first, first + 1}) {
      try {
        check_embedding(row == first ? a : b, settings_.distance);
      } catch (const Error& error) {
        throw Error(row_name(packet, row) + " " + error.what());
      }
    }
    pairs_.push_back({ranked_distance(a, b, settings_.distance), labels[first] == 1,
                      has_folds ? fold_of_row[first] : 0});
    names_.push_back(pair_names(packet, first));
  }
}

void Verification::end(Context& context) {
  if (pairs_.empty()) throw Error("no pair arrived, so there is nothing to verify");
  if (!*has_folds_) {
    if (settings_.fold) {
      throw Error("'fold' = " + std::to_string(*settings_.fold) +
                      " is a fold of the list, but the pairs arrived without folds; add "
                      "\"pair_fold\" to `carry` of the batch, or remove 'fold'",
                  Fault::configuration);
    }
    deal_folds(pairs_, folds_);
  }
  const bool one_fold =
      *has_folds_ && std::all_of(pairs_.begin(), pairs_.end(), [&](const ScoredPair& pair) {
        return pair.fold == pairs_.front().fold;
      });
  if (one_fold && folds_ > 1 && !settings_.fold) {
    throw Error(
        "all pairs are in fold " + std::to_string(pairs_.front().fold) +
            ", so there is no other fold to select a threshold; remove \"pair_fold\" from `carry` "
            "to distribute the pairs over `folds`, or set folds = 1 for no accuracy",
        Fault::configuration);
  }
  const VerificationResult result = verify(pairs_, settings_);
  if (!result.folds.empty()) {
    context.metric("accuracy", result.accuracy.mean);
    if (result.accuracy.standard_error) {
      context.metric("accuracy.standard_error", *result.accuracy.standard_error);
    }
    const auto [fewer, more] = std::minmax(result.roc.same, result.roc.different);
    context.metric("accuracy.chance",
                   static_cast<double>(more) / static_cast<double>(fewer + more));
  }
  if (result.at_margin) context.metric("accuracy_at_margin", *result.at_margin);
  context.metric("eer", result.eer);
  context.metric("eer.chance", chance_level);
  context.metric("auc", result.auc);
  context.metric("auc.chance", chance_level);
  for (const auto& [far, tar] : result.tar) context.metric("tar@" + text_of(far), tar);
  context.metric("pairs", static_cast<double>(result.roc.same + result.roc.different));
  std::string protocol = protocol_.empty() ? "unnamed" : protocol_;
  if (input_.known()) protocol += "/images=" + to_string(input_);
  std::string text = verification_table(result, settings_, protocol);
  if (!result.folds.empty() && !*has_folds_) {
    text += "The pairs do not come with folds: a person may be in several.\n";
  }
  context.report("Verification", text);
  if (result.folds.size() > 1) {
    context.report("Verification by fold", fold_table(result, settings_.distance));
  }
  write_curve(result, context);
  const PairOutcomes outcomes = outcomes_of(pairs_, names_, result, settings_);
  if (!outcomes.metrics.empty()) write_outcomes(outcomes.metrics, outcomes.outcomes, context);
  pairs_.clear();
  names_.clear();
  seen_.clear();
}

void Verification::write_curve(const VerificationResult& result, const Context& context) const {
  if (context.run_directory().empty()) return;  // it keeps no files
  const DrawnSet drawn("pictures", context);
  nlohmann::ordered_json far = nlohmann::ordered_json::array();
  nlohmann::ordered_json tar = nlohmann::ordered_json::array();
  for (const RocPoint& point : corners(result.roc)) {
    far.push_back(result.roc.far(point));
    tar.push_back(result.roc.tar(point));
  }
  drawn.write("roc", {{"far", std::move(far)}, {"tar", std::move(tar)}});
  export_file(export_path(folder_, context) / drawn.name_of("roc.csv"),
              roc_csv(result.roc, settings_.distance));
}

}  // namespace seam::stages
