/// How stages declare that their keys and they themselves count when runs are compared:
/// ParameterRole, Declaration::only_writes, which stages are samplers, and which parameters are
/// paths or references. A run's folder keeps this, so that comparing runs loads no plugin.
///
///     declare(d) ──► roles_of ──► #: [roles]               in the head of resolved.toml
///                                 #: "stage.items.fold" = "replicate unless stage.items.folds = 1"
///                                 #: "stage.items.root" = "path"
///                                 #: "stage.neighbours" = "only_writes"
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/config/parameters.hpp"

namespace seam {
class StageRunner;
}

namespace seam::host {

struct StageDraft;

class Roles {
 public:
  /// By key or "stage.NAME", as in resolved.toml.
  using Texts = std::map<std::string, std::string>;

  /// Those of a run that recorded none, because its version of Seam did not: they follow from the
  /// names that the parameters and stages of that version had.
  Roles() = default;
  explicit Roles(Texts texts) : texts_(std::move(texts)) {}
  [[nodiscard]] const Texts& texts() const { return texts_; }

  /// Whether runs that differ only in this key repeat the same experiment: the run's seed, and the
  /// fold that a stage uses, leaves out or measures.
  [[nodiscard]] bool is_replicate(const std::string& key) const;
  /// Whether the run's value of a replicate selects something; a data set without folds has none.
  [[nodiscard]] bool is_used(const std::string& replicate, const Parameters& parameters) const;
  /// Whether a key can change what a run computes; its name or its threads cannot.
  [[nodiscard]] bool changes_results(const std::string& key) const;
  /// Whether the stage changes nothing that a run measures.
  [[nodiscard]] bool only_writes(const std::string& stage, const Parameters& parameters) const;
  /// Whether the stage trains, such as an optimizer.
  [[nodiscard]] bool trains(const std::string& stage, const Parameters& parameters) const;
  /// Whether the stage is a sampler: is_sampler().
  [[nodiscard]] bool samples(const std::string& stage, const Parameters& parameters) const;
  /// Whether a stage's key names a file or a folder.
  [[nodiscard]] bool is_path(const std::string& key) const;
  /// Whether a stage's key may name another stage; in runs that recorded no references, each does
  /// whose value is a stage's name.
  [[nodiscard]] bool may_refer(const std::string& key) const;
  /// The key of the stage's protocol; empty if it has none.
  [[nodiscard]] std::string protocol_of(const std::string& stage,
                                        const Parameters& parameters) const;

  friend bool operator==(const Roles&, const Roles&) = default;

 private:
  /// Whether a key has this text: the version of Seam that made the run recorded such texts.
  [[nodiscard]] bool records(std::string_view text) const;
  /// Whether the stage has this text; in runs that recorded no such text, each stage of the family
  /// has, such as "train" for train.adam.
  [[nodiscard]] bool has_text(std::string_view text, std::string_view family,
                              const std::string& stage, const Parameters& parameters) const;
  /// "replicate", "replicate unless KEY = VALUE", "protocol", "path", ...; empty for other
  /// settings.
  [[nodiscard]] std::string text_of(const std::string& key) const;

  Texts texts_;
};

/// Whether the stage passes on packets that it selects, such as pairs of images. A collector that
/// replaces its packets, such as a batch, does not.
[[nodiscard]] bool is_sampler(const StageRunner& stage);

/// As the stages declare them.
[[nodiscard]] Roles roles_of(const std::vector<StageDraft>& stages);

}  // namespace seam::host
