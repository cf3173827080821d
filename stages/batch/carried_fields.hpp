/// What a batch gathers beside the fields that every batch has: fields of any type, as their
/// FieldTraits say.
///
///     view 2        view 0             views      i64[2]       numbers: a tensor
///     points [5,2]  points [5,2]  ──►  points as marks: f32[2,5,2]
///     caption "a"   caption "b"        captions   std::vector<std::string>[2]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <seam/tensor.hpp>

namespace seam::stages {

/// A field to gather: "view", in the batch "views"; "x_1 as left", in the batch "left".
struct CarriedField {
  std::string from;
  std::string name;
};

/// Reads one entry of `carry`. Without " as " the batch's name is the plural: view, views; box,
/// boxes; entry, entries. Throws seam::Error (configuration) where the text is neither form, or
/// where the name ends in "s" and has no plural of its own.
[[nodiscard]] CarriedField parse_carried(const std::string& text);

class CarriedFields {
 public:
  /// Declares what the entries gather. Throws seam::Error (configuration) for entries that
  /// parse_carried refuses, that gather what every batch has, or that share a name.
  void declare(Declaration& declaration, const std::vector<std::string>& entries);
  /// Forgets the pictures of the flow before.
  void begin();
  /// Throws seam::Error naming both pictures where this one lacks a field, or where its value has
  /// another type or other sizes than that of the flow's first picture.
  void check(const Packet& packet);
  /// Adds the fields to the batch. All packets have passed check().
  void gather(std::span<const Packet> packets, Packet& batch) const;

 private:
  /// What the first picture's value is like.
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
