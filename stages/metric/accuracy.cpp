#include "stages/metric/accuracy.hpp"

#include <algorithm>
#include <cmath>

#include "stages/counted.hpp"
#include "stages/decimals.hpp"
#include "stages/published/published_rows.hpp"
#include "stages/table_cell.hpp"

namespace seam::stages {

Interval wilson_interval(double share, std::int64_t of) {
  if (of < 1) return {};
  constexpr double z = 1.959963984540054;  // 97.5 % of the normal distribution
  const auto count = static_cast<double>(of);
  const double centre = share + z * z / (2 * count);
  const double spread = z * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  const double scale = 1 + z * z / count;
  return {std::max(0.0, (centre - spread) / scale), std::min(1.0, (centre + spread) / scale)};
}

TopKCounter::TopKCounter(std::vector<std::int64_t> ks, std::int64_t classes)
    : ks_(std::move(ks)), classes_(classes) {
  std::sort(ks_.begin(), ks_.end());
  ks_.erase(std::unique(ks_.begin(), ks_.end()), ks_.end());
  if (ks_.empty() || ks_.front() < 1) {
    throw Error("top-k accuracy needs at least one k, each 1 or more", Fault::configuration);
  }
  if (ks_.back() >= classes) {
    throw Error("k is " + std::to_string(ks_.back()) + ", but the scores are for " +
                    counted(classes, "class", "classes") +
                    ": the label would be among the best k whatever the scores are; lower 'k'",
                Fault::configuration);
  }
  optimistic_.resize(ks_.size());
  pessimistic_.resize(ks_.size());
  of_class_.resize(static_cast<std::size_t>(classes));
  for (Hits& hits : of_class_) {
    hits.hits.resize(ks_.size());
    hits.predicted.resize(static_cast<std::size_t>(classes));
  }
}

void TopKCounter::add(std::span<const float> scores, std::int64_t label) {
  if (static_cast<std::int64_t>(scores.size()) != classes_) {
    throw Error("has scores for " + counted(scores.size(), "class", "classes") +
                ", but earlier images had " + grouped(classes_));
  }
  if (label < 0) throw Error("has no category (" + std::to_string(label) + ")");
  if (label >= classes_) {
    throw Error("has category " + std::to_string(label) + ", but the scores are for " +
                counted(classes_, "class", "classes") + ", 0 to " + std::to_string(classes_ - 1));
  }
  const auto own = static_cast<std::size_t>(label);
  std::int64_t above = 0;
  std::int64_t tied_before = 0;
  std::int64_t tied = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) {
      throw Error("has NaN for the score of class " + std::to_string(i) +
                  "; the model has diverged, or its input is corrupt");
    }
    if (scores[i] > scores[best]) best = i;
    if (i == own) continue;
    if (scores[i] > scores[own]) ++above;
    if (scores[i] == scores[own]) {
      ++tied;
      if (i < own) ++tied_before;
    }
  }
  Hits& hits = of_class_[own];
  ++hits.images;
  ++hits.predicted[best];
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    hits.hits[i] += above + tied_before < ks_[i] ? 1 : 0;
    optimistic_[i] += above < ks_[i] ? 1 : 0;
    pessimistic_[i] += above + tied < ks_[i] ? 1 : 0;
  }
}

AccuracyResult TopKCounter::result() const {
  AccuracyResult result;
  result.ks = ks_;
  std::vector<std::int64_t> hits(ks_.size());
  for (const Hits& of_class : of_class_) {
    result.images += of_class.images;
    for (std::size_t i = 0; i < ks_.size(); ++i) hits[i] += of_class.hits[i];
  }
  if (result.images == 0) throw Error("no image arrived, so there is no accuracy to report");
  const auto share = [](std::int64_t count, std::int64_t of) {
    return of == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(of);
  };
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    const double accuracy = share(hits[i], result.images);
    result.accuracy.push_back(accuracy);
    result.optimistic.push_back(share(optimistic_[i], result.images));
    result.pessimistic.push_back(share(pessimistic_[i], result.images));
    result.standard_error.push_back(
        std::sqrt(accuracy * (1 - accuracy) / static_cast<double>(result.images)));
  }
  for (std::size_t label = 0; label < of_class_.size(); ++label) {
    const Hits& of_class = of_class_[label];
    ClassAccuracy accuracy;
    accuracy.images = of_class.images;
    for (const std::int64_t count : of_class.hits) {
      accuracy.accuracy.push_back(share(count, of_class.images));
    }
    for (std::size_t other = 0; other < of_class.predicted.size(); ++other) {
      if (other == label || of_class.predicted[other] <= accuracy.taken_for_it) continue;
      accuracy.most_taken_for = static_cast<std::int64_t>(other);
      accuracy.taken_for_it = of_class.predicted[other];
    }
    result.by_class.push_back(std::move(accuracy));
  }
  return result;
}

void Accuracy::declare(Declaration& d) {
  d.doc(
      "Top-k accuracy over all images of a flow: how often the true category is among the k "
      "classes with the highest scores. Equal scores are ranked by class number.");
  d.parameter("k", ks_, "the k of top-k accuracy, each smaller than the number of classes")
      .at_least(1);
  d.parameter("from", from_, "field used as scores",
              {{"logits", From::logits}, {"class_lengths", From::class_lengths}});
  d.parameter("per_class", per_class_, "whether to add a table by class");
  d.parameter("protocol", protocol_,
              "name of the data in the report, such as 'deepfashion-category-test/img224'")
      .protocol();
  const auto largest = std::max_element(ks_.begin(), ks_.end());
  const std::int64_t least = largest == ks_.end() || *largest < 1 ? 2 : *largest + 1;
  d.needs(field()).contract("f32[N," + std::to_string(least) + "+]");
  d.needs(field::categories).doc("the labels, from 0");
  d.accepts(field::origins).doc("to name lists, and a rejected image");
  d.accepts(field::indices).doc("to reject an image that occurs twice");
  d.accepts(field::paths).doc("to reject an image that occurs twice");
  d.accepts(field::images).doc("only their size, for the report");
  d.upstream(names_, "names of the classes in the table by class");
  d.upstream(models_, "names of the model's classes");
  d.upstream(lists_, "whether the images are those used for published results");
  if (largest == ks_.end()) return;
  const std::int64_t smallest = *std::min_element(ks_.begin(), ks_.end());
  d.headline("accuracy@" + std::to_string(smallest), Better::higher);
  if (*largest != smallest) d.headline("accuracy@" + std::to_string(*largest), Better::higher);
}

const Field<Tensor>& Accuracy::field() const {
  return from_ == From::logits ? field::logits : field::class_lengths;
}

void Accuracy::open(Context& /*context*/) {
  if (ks_.empty()) {
    throw Error("'k' is empty; top-k accuracy needs at least one k", Fault::configuration);
  }
}

void Accuracy::begin(Context& /*context*/) {
  const ClassVocabulary* const scored = provider_of(field().name, models_);
  if (scored != nullptr) scored->require_categories(field().name);
  for (const ClassVocabulary* model : models_) {
    model->require_one();
    model->require_names_or_numbers();
  }
  counter_.reset();
  input_ = {};
  pictures_.clear();
  list_files_.clear();
}

void Accuracy::begin_with(std::int64_t classes, const Context& context) {
  const auto named = static_cast<std::int64_t>(agreed_names(names_).size());
  if (named > classes) {
    throw Error("the data set has " + counted(named, "category", "categories") +
                    ", but the scores are for " + counted(classes, "class", "classes") +
                    "; give the model as many",
                Fault::configuration);
  }
  if (named > 0 && named < classes) {
    context.warn("the scores are for " + counted(classes, "class", "classes") +
                 ", but the data set has " + counted(named, "category", "categories") +
                 ": a model with more classes than necessary may predict one that does not exist");
  }
  counter_.emplace(ks_, classes);
}

void Accuracy::process(const Packet& packet, Context& context) {
  const Tensor scores = on_host(packet.get(field()));
  const std::vector<std::int64_t>& labels = packet.get(field::categories);
  const std::int64_t rows = scores.size(0);
  const std::int64_t classes = scores.size(1);
  check_same_rows("'" + std::string(field().name) + "' has", static_cast<std::size_t>(rows),
                  "'categories' has", labels.size());
  if (rows == 0) return;
  pictures_.add(packet, labels.size());
  add_lists_of(packet, list_files_);
  retrieval::InputSize input;
  if (packet.has(field::images) && packet.get(field::images).dim() == 4) {
    input = {packet.get(field::images).size(2), packet.get(field::images).size(3)};
  }
  input_ = counter_ ? retrieval::together(input_, input) : input;
  if (!counter_) begin_with(classes, context);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    try {
      counter_->add({scores.data_ptr<float>() + row * classes, static_cast<std::size_t>(classes)},
                    labels[at]);
    } catch (const Error& error) {
      throw Error(row_name(packet, at) + " " + error.what());
    }
  }
}

void Accuracy::end(Context& context) {
  if (!counter_) throw Error("no image arrived, so there is no accuracy to report");
  const AccuracyResult result = counter_->result();
  for (std::size_t i = 0; i < result.ks.size(); ++i) {
    const std::string metric = "accuracy@" + std::to_string(result.ks[i]);
    context.metric(metric, result.accuracy[i]);
    context.metric(metric + ".optimistic", result.optimistic[i]);
    context.metric(metric + ".pessimistic", result.pessimistic[i]);
    context.metric(metric + ".standard_error", result.standard_error[i]);
    context.metric(metric + ".chance", chance_of(result, i));
  }
  context.metric("images", static_cast<double>(result.images));
  context.report("Accuracy", accuracy_table(result) +
                                 "\nData: " + (protocol_.empty() ? "unnamed" : protocol_) +
                                 ", images of " + to_string(input_) + " pixels.\n" + data_text() +
                                 published(result));
  if (per_class_) context.report("Accuracy by class", class_table(result, agreed_names(names_)));
}

std::string Accuracy::data_text() const {
  std::string text;
  if (!list_files_.empty()) text = "\nLists that were read: " + names_of_lists(list_files_) + ".\n";
  const std::string difference = differences(lists_);
  if (!difference.empty()) {
    text += "\n**Not comparable with published numbers:** " + difference + ".\n";
  }
  return text;
}

std::string Accuracy::published(const AccuracyResult& result) const {
  std::string data = published_name(lists_);
  if (!input_.known() || data != data_of_protocol(protocol_)) return {};
  const MeasuredOn on{.task = "accuracy",
                      .data = std::move(data),
                      .category = "",
                      .queries = result.images,
                      .classes = static_cast<std::int64_t>(result.by_class.size()),
                      .height = input_.height,
                      .width = input_.width,
                      .mask = "none"};
  return published_table(on, result.ks);
}

double chance_of(const AccuracyResult& result, std::size_t k) {
  return static_cast<double>(result.ks[k]) / static_cast<double>(result.by_class.size());
}

std::string accuracy_table(const AccuracyResult& result) {
  std::int64_t most = 0;
  std::int64_t present = 0;
  for (const ClassAccuracy& of_class : result.by_class) {
    most = std::max(most, of_class.images);
    present += of_class.images > 0 ? 1 : 0;
  }
  const auto classes = static_cast<std::int64_t>(result.by_class.size());
  std::string text = counted(result.images, "image") + " of " +
                     counted(present, "class", "classes") + "; scores for " +
                     counted(classes, "class", "classes") +
                     ".\n\n| | accuracy | 95 % interval | chance |\n|---|---:|---:|---:|\n";
  for (std::size_t i = 0; i < result.ks.size(); ++i) {
    const Interval interval = wilson_interval(result.accuracy[i], result.images);
    text += "| top-" + std::to_string(result.ks[i]) + " | " + percent(result.accuracy[i]) + " | " +
            percent(interval.low) + " to " + percent(interval.high) + " | " +
            percent(chance_of(result, i)) + " |\n";
    if (result.optimistic[i] == result.pessimistic[i]) continue;
    text += "| · ties lucky or not | " + percent(result.pessimistic[i]) + " to " +
            percent(result.optimistic[i]) + " | | |\n";
  }
  return text +
         "\nPercent of images whose class is among the K highest scores. Chance: K classes drawn "
         "at random. Always predicting the most frequent class has " +
         percent(static_cast<double>(most) / static_cast<double>(result.images)) + " %.\n";
}

std::string class_table(const AccuracyResult& result, const std::vector<std::string>& names) {
  std::string text = "| class | images |";
  for (const std::int64_t k : result.ks) text += " top-" + std::to_string(k) + " |";
  text += " most often taken for |\n|---|---:|";
  for (std::size_t i = 0; i < result.ks.size(); ++i) text += "---:|";
  text += "---|\n";
  for (std::size_t label = 0; label < result.by_class.size(); ++label) {
    const ClassAccuracy& of_class = result.by_class[label];
    if (of_class.images == 0) continue;
    text += "| " + class_cell(static_cast<std::int64_t>(label), names) + " | " +
            grouped(of_class.images) + " |";
    for (const double accuracy : of_class.accuracy) text += " " + percent(accuracy) + " |";
    text += of_class.most_taken_for < 0 ? " |\n"
                                        : " " + class_cell(of_class.most_taken_for, names) + " (" +
                                              grouped(of_class.taken_for_it) + ") |\n";
  }
  return text;
}

}  // namespace seam::stages
