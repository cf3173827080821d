/// Data sets that give no packets, only names or numbers to categories: as real ones, once open.
#pragma once

#include <seam/category_names.hpp>
#include <seam/stage.hpp>

#include <string>
#include <utility>
#include <vector>

#include "stages/own_numbers.hpp"

namespace seam::stages {

class NamedCategories final : public Source, public CategoryNames {
 public:
  explicit NamedCategories(std::vector<std::string> names) : names_(std::move(names)) {}
  void declare(Declaration& d) override { d.offers<CategoryNames>(*this); }
  void open(Context& /*context*/) override { opened_ = true; }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return opened_ ? names_ : none_;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> none_;
  bool opened_ = false;
};

/// A list whose categories are numbers: all 0, or others too.
class NumberedList final : public Source, public CategoryNames, public OwnNumbers {
 public:
  explicit NumberedList(bool above_0) : above_0_(above_0) {}
  void declare(Declaration& d) override { d.offers<CategoryNames>(*this); }
  void open(Context& /*context*/) override { opened_ = true; }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] const std::vector<std::string>& category_names() const override { return none_; }
  [[nodiscard]] bool has_own_numbers() const override { return opened_ && above_0_; }

 private:
  bool above_0_;
  std::vector<std::string> none_;
  bool opened_ = false;
};

}  // namespace seam::stages
