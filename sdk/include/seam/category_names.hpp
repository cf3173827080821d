// SPDX-License-Identifier: Apache-2.0
/// What the numbers in the field `category` are called, for reports.
///
///     class MyList final : public seam::Source, public seam::CategoryNames {
///       void declare(seam::Declaration& d) override {
///         ...
///         d.offers<seam::CategoryNames>(*this);
///       }
///     };
///
/// A stage that reports by category declares `d.upstream(names_, "...")` of a
/// seam::Refs<seam::CategoryNames> and asks all sources before it.
#pragma once

#include <string>
#include <vector>

namespace seam {

class CategoryNames {
 public:
  CategoryNames() = default;
  virtual ~CategoryNames() = default;

  /// By number; from open() on. Empty where the categories have no names. Two sources whose
  /// vocabularies differ number their categories in different ways.
  [[nodiscard]] virtual const std::vector<std::string>& category_names() const = 0;

 protected:
  // Only through what derives from it.
  CategoryNames(const CategoryNames&) = default;
  CategoryNames& operator=(const CategoryNames&) = default;
  CategoryNames(CategoryNames&&) = default;
  CategoryNames& operator=(CategoryNames&&) = default;
};

}  // namespace seam
