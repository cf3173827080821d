/// One axis of a sweep: keys of a pipeline file, and the values that they take in turn.
///
///     stage.triplet_loss.margin=0.2,0.5,1         values, each as --set takes it
///     pipeline.seed=1..3                          the integers 1, 2, 3
///     stage.adam.rate=1e-4..1e-2:log              an interval, from which random search draws
///     stage.train.fold,stage.query.fold=0..4      keys that change together
///     variant=arcface,triplet                     variants of the file
///     variant.loss                                all of a group; variants: of each group
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/variants.hpp"

namespace seam::host {

enum class Scale : std::uint8_t { linear, logarithmic };
enum class Numbers : std::uint8_t { whole, real };

/// An interval to draw from, both ends included.
struct Interval {
  double least = 0;
  double most = 0;
  Scale scale = Scale::linear;
  Numbers numbers = Numbers::real;

  friend bool operator==(const Interval&, const Interval&) = default;
};

struct Axis {
  std::vector<std::string> keys;     ///< at least one; all take the same value
  std::vector<std::string> values;   ///< as --set takes them; empty if there is an interval
  std::optional<Interval> interval;  ///< only for random search
};

/// Throws seam::Error (configuration) with the accepted forms.
Axis parse_axis(const std::string& text);
/// The same for several, with the variants of the file; each key may be in only one of them.
std::vector<Axis> parse_axes(const std::vector<std::string>& texts,
                             const VariantNames& variants = {});

}  // namespace seam::host
