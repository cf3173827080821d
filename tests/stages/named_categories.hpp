/// Data sets that give no packets, only names or numbers to categories: as real ones, once open.
/// And a model with classes.
#pragma once

#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <seam/tensor.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "stages/listed_categories.hpp"

namespace seam::stages {

class NamedCategories final : public Source, public CategoryNames, public ListedCategories {
 public:
  /// Serves images of the first `served` of its categories, by default of all.
  explicit NamedCategories(std::vector<std::string> names, std::int64_t served = 1 << 20)
      : names_(std::move(names)) {
    for (std::int64_t at = 0; at < std::min(served, std::ssize(names_)); ++at) served_.insert(at);
  }
  void declare(Declaration& d) override { d.offers<CategoryNames>(*this); }
  void open(Context& /*context*/) override { opened_ = true; }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return opened_ ? names_ : none_;
  }
  [[nodiscard]] bool has_own_numbers() const override { return false; }
  [[nodiscard]] const std::set<std::int64_t>& served_categories() const override { return served_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> none_;
  std::set<std::int64_t> served_;
  bool opened_ = false;
};

/// A list whose categories are numbers: all 0, or others too.
class NumberedList final : public Source, public CategoryNames, public ListedCategories {
 public:
  explicit NumberedList(bool above_0) : above_0_(above_0) {}
  void declare(Declaration& d) override { d.offers<CategoryNames>(*this); }
  void open(Context& /*context*/) override { opened_ = true; }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] const std::vector<std::string>& category_names() const override { return none_; }
  [[nodiscard]] bool has_own_numbers() const override { return opened_ && above_0_; }
  [[nodiscard]] const std::set<std::int64_t>& served_categories() const override { return served_; }

 private:
  bool above_0_;
  std::vector<std::string> none_;
  std::set<std::int64_t> served_;
  bool opened_ = false;
};

/// A model with scores of classes that data sets name.
class NumberedModel final : public Transform {
 public:
  explicit NumberedModel(const Field<Tensor>& scores = field::logits) : scores_(scores) {}
  void declare(Declaration& d) override {
    d.provides(scores_);
    vocabulary_.declare(d);
  }
  void open(Context& /*context*/) override { vocabulary_.open(); }
  void process(Packet& /*packet*/, Context& /*context*/) override {}
  [[nodiscard]] ClassVocabulary& vocabulary() { return vocabulary_; }

 private:
  Field<Tensor> scores_;
  ClassVocabulary vocabulary_;
};

}  // namespace seam::stages
