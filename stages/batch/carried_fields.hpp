/// Collects further fields into a batch, in addition to the fields of every batch: of any type, as
/// defined by their FieldTraits.
///
///     view 2        view 0             views      i64[2]       numbers: a tensor
///     points [5,2]  points [5,2]  ──►  points as marks: f32[2,5,2]
///     caption "a"   caption "b"        captions   std::vector<std::string>[2]
#pragma once

#include <seam/tensor.hpp>

namespace seam::stages {

/// A field to collect: "view", in the batch "views"; "x_1 as left", in the batch "left".
struct CarriedField {
  std::string from;
  std::string name;
};

/// Reads one entry of `carry`. Without " as " the batch's name is the plural: view, views; box,
/// boxes; entry, entries. Throws seam::Error (configuration) if the text has neither form, or if
/// the name ends in "s" and no plural is given.
[[nodiscard]] CarriedField parse_carried(const std::string& text);

class CarriedFields {
 public:
  /// Declares the fields of the entries. Throws seam::Error (configuration) as parse_carried does,
  /// and for entries that are in every batch anyway or share a name.
  void declare(Declaration& d, const std::vector<std::string>& entries);
  /// Forgets the images of the previous flow.
  void begin();
  /// Throws seam::Error naming both images if this one lacks a field, or if its value differs in
  /// type or sizes from that of the flow's first image.
  void check(const Packet& packet);
  /// Adds the fields to the batch. All packets have passed check().
  void gather(std::span<const Packet> packets, Packet& batch) const;

 private:
  /// Type and sizes of the first image's value.
  struct Pattern {
    Origin origin;
    std::string type;
    std::string element;
    std::vector<std::int64_t> sizes;
  };
  struct Carried : CarriedField {
    std::string_view lasting_name;
    std::optional<Pattern> pattern;
  };

  std::vector<Carried> fields_;
};

}  // namespace seam::stages
