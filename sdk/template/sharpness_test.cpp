// Any test framework will do; this uses none. The harness runs a stage as the host would.
#include "sharpness.hpp"

#include <cstdio>
#include <memory>
#include <seam/testing.hpp>
#include <utility>

#include "stripes.hpp"

int main() {
  seam::testing::Harness stripes("stripes", std::make_unique<Stripes>());
  stripes.set("pictures", 3).set("side", 8).produce();

  seam::testing::Harness measured("sharpness", std::make_unique<Sharpness>());
  measured.set("least", 100).push_all(stripes.take_outputs(), 2).finish();

  // 8 pixels have 7 pairs of neighbours: all differ, every second does, every third (two of them).
  const auto& kept = measured.outputs();
  const bool fine = kept.size() == 2 && kept[0].get(sharpness) == 255 &&
                    kept[1].get(sharpness) == 255 * 3 / 7.0 && measured.drops().size() == 1 &&
                    measured.errors().empty();
  std::puts(fine ? "fine" : "wrong");
  return fine ? 0 : 1;
}
