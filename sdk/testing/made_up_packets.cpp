#include <array>
#include <charconv>
#include <utility>

#include "seam/conformance_checks.hpp"
#include "seam/contract.hpp"

namespace seam::testing {
namespace {

/// Number of rows of each packet's lists; they differ, to find stages that assume a fixed number.
constexpr std::array<std::int64_t, 6> rows_of_packet{2, 3, 1, 2, 3, 1};

/// A gradient with a bright spot, different for each number.
Image made_up_image(std::int64_t number) {
  constexpr int height = 16;
  constexpr int width = 12;
  Image image(height, width, 3);
  const int spot = static_cast<int>(number % height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::uint8_t* pixel = image.row(y) + std::ptrdiff_t{3} * x;
      pixel[0] = static_cast<std::uint8_t>(255 * x / (width - 1));
      pixel[1] = static_cast<std::uint8_t>(255 * y / (height - 1));
      pixel[2] = y == spot ? 255 : 40;
    }
  }
  return image;
}

template <class T>
T made_up(std::int64_t number) {
  if constexpr (std::is_same_v<T, Image>) {
    return made_up_image(number);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "item " + std::to_string(number);
  } else if constexpr (std::is_same_v<T, Role>) {
    return Role::single;
  } else if constexpr (std::is_same_v<T, Origin>) {
    return {nullptr, 0, "row " + std::to_string(number)};
  } else {
    return static_cast<T>(number);
  }
}

/// The length of a list: that of its contract, such as 3 for "*[3]", otherwise that of the packet's
/// batch.
std::int64_t length_of(const FieldInfo& field, std::int64_t rows) {
  if (field.contract.empty()) return rows;
  const TensorContract contract = TensorContract::parse(field.contract);
  std::int64_t length = rows;
  if (!contract.dimensions().empty()) {
    const std::string& first = contract.dimensions().front();
    std::from_chars(first.data(), first.data() + first.size(), length);  // no effect for a name
  }
  return length;
}

template <class T>
bool put_made_up(Packet& packet, const FieldInfo& field, std::int64_t number, std::int64_t rows) {
  const std::string_view name = lasting_name(field.name);
  const std::string_view contract = lasting_name(field.contract);
  if (field.type == type_name<T>()) {
    packet.set(Field<T>{name, contract}, made_up<T>(number));
    return true;
  }
  if (field.type == type_name<std::vector<T>>()) {
    std::vector<T> list;
    const std::int64_t length = length_of(field, rows);
    for (std::int64_t at = 0; at < length; ++at) list.push_back(made_up<T>(number + at));
    packet.set(Field<std::vector<T>>{name, contract}, std::move(list));
    return true;
  }
  return false;
}

template <class... Types>
bool put_any(Packet& packet, const FieldInfo& field, std::int64_t number, std::int64_t rows) {
  return (put_made_up<Types>(packet, field, number, rows) || ...);
}

}  // namespace

std::vector<Packet> made_up_packets(const Description& description) {
  std::vector<Packet> packets;
  for (const std::int64_t rows : rows_of_packet) {
    const auto number = static_cast<std::int64_t>(packets.size());
    Packet packet({nullptr, 0, "packet " + std::to_string(number)});
    for (const FieldInfo& field : description.needs) {
      if (!put_any<Image, std::string, std::int64_t, double, float, Role, Origin>(packet, field,
                                                                                  number, rows)) {
        throw Error("field '" + field.name + "' is of type " + readable_type(field.type) +
                        ", which the suite cannot generate: set the packets of the example",
                    Fault::configuration);
      }
    }
    packets.push_back(std::move(packet));
  }
  return packets;
}

}  // namespace seam::testing
