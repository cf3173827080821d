/// A data set that gives no packets, only names to its categories: as real ones, once it is open.
#pragma once

#include <seam/category_names.hpp>
#include <seam/stage.hpp>

#include <string>
#include <utility>
#include <vector>

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

}  // namespace seam::stages
