/// Images, outputs and errors for the tests of samplers.
#pragma once

#include <seam/testing.hpp>

#include "tests/support/text.hpp"

namespace seam::test {

/// `image 0`, `image 1`, ... of the items `id_0`, `id_1`, ... in turn.
inline std::vector<Packet> images_of_items(int images, int items) {
  std::vector<Packet> packets;
  for (int i = 0; i < images; ++i) {
    Packet packet(Origin{nullptr, i + 1, "image " + std::to_string(i)});
    packet.set(field::item, "id_" + std::to_string(i % items));
    packet.set(field::index, std::int64_t{i});
    packets.push_back(std::move(packet));
  }
  return packets;
}

/// (index, group, value of `label`) of everything that came out.
template <class T>
std::vector<std::tuple<std::int64_t, std::int64_t, T>> sent(const seam::testing::Harness& harness,
                                                            const Field<T>& label) {
  std::vector<std::tuple<std::int64_t, std::int64_t, T>> out;
  for (const Packet& packet : harness.outputs()) {
    out.emplace_back(packet.get(field::index), packet.get(field::group), packet.get(label));
  }
  return out;
}

/// The error of an epoch of these images in a stage.
inline std::string error_of_epoch(seam::testing::Harness& harness, std::vector<Packet> images) {
  return error_of([&] {
    harness.push_all(std::move(images)).finish();
    if (!harness.errors().empty()) throw harness.errors().front();
  });
}

}  // namespace seam::test
