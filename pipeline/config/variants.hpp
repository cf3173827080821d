/// Variants: named sets of changes in a pipeline file. The command line chooses among them.
///
///     [variant.arcface.stage.loss]      --variant arcface: laid over the file as one that extends
///     use = "loss.arcface"              it would be, before --set
///     [variants]
///     loss = ["arcface", "triplet"]     a group: one of its variants is chosen at a time
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/variables.hpp"

namespace seam::host {

struct VariantGroup {
  std::string name;
  std::vector<std::string> variants;
};

/// The variants of a file and of those that it extends.
struct VariantNames {
  std::vector<std::string> variants;
  std::vector<VariantGroup> groups;

  /// The group that has the variant, or null.
  [[nodiscard]] const VariantGroup* group_of(std::string_view variant) const;
};

/// "variant" or "variant.GROUP", which a sweep goes over and a run is listed with.
bool is_variant_key(std::string_view key);

/// The choices that `seam check` tries: one variant of each group, all combinations if there are at
/// most 64, and each other variant on its own.
std::vector<std::vector<std::string>> choices_of(const VariantNames& names);

class Variants {
 public:
  /// Removes [variant] and [variants] from the tree and reports their errors.
  Variants(Table& tree, Findings& findings);

  [[nodiscard]] const VariantNames& names() const { return names_; }
  /// Lays the chosen variants over the tree, in this order. Reports unknown ones, and two of the
  /// same group.
  void lay_over(Table& tree, const std::vector<std::string>& chosen, const Environment& environment,
                Sources& sources, Findings& findings);
  /// The [chosen] of the pipeline: that of the tree, which a run's resolved.toml has, with these
  /// variants and the keys of --set. Call it after `like` is resolved.
  [[nodiscard]] ChosenSpec chosen(const Table& tree, const std::vector<std::string>& set,
                                  Findings& findings) const;

 private:
  using Mark = std::tuple<std::string, std::uint32_t, std::uint32_t>;

  void read_variants(const Entry& entry, Findings& findings);
  void read_groups(const Entry& entry, Findings& findings);
  void mark(const Node& node);
  [[nodiscard]] bool is_marked(const Node& node) const;
  [[nodiscard]] std::vector<std::string> decided(const Table& tree) const;

  Table changes_;  ///< by variant
  VariantNames names_;
  std::vector<std::string> laid_;  ///< "GROUP=NAME", or "NAME" of a variant in no group
  std::set<Mark> marks_;           ///< places of the values that chosen variants set
};

}  // namespace seam::host
