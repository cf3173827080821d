// SPDX-License-Identifier: Apache-2.0
/// Names of the numbers in the field `category`, for reports.
///
///     class MyList final : public seam::Source, public seam::CategoryNames {
///       void declare(seam::Declaration& d) override {
///         ...
///         d.offers<seam::CategoryNames>(*this);
///       }
///     };
///
/// A stage that reports by category declares `d.upstream(names_, "...")` of a
/// seam::Refs<seam::CategoryNames> and gets those of all sources before it.
#pragma once

#include <string>
#include <vector>

namespace seam {

class CategoryNames {
 public:
  virtual ~CategoryNames() = default;

  /// By number; available after open(). Empty if the categories have no names. Two sources with
  /// different names number their categories differently.
  [[nodiscard]] virtual const std::vector<std::string>& category_names() const = 0;
};

}  // namespace seam
