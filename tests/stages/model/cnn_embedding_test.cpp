#include "stages/model/cnn_embedding.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <vector>

namespace seam::stages {
namespace cnn_embedding_test {

using seam::testing::Harness;

Packet batch(std::int64_t height, std::int64_t width) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({3, 3, height, width}));
  return packet;
}

const auto conformance = seam::testing::conformance<CnnEmbedding>({
    .parameters = {{"width", std::int64_t{8}},
                   {"channels", std::int64_t{24}},
                   {"dimensions", std::int64_t{10}}},
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(32, 32), batch(30, 41)};
        },
});

TEST(CnnEmbedding, HasAsManyNumbersAsSccapsnetNearly) {
  Harness harness("model", std::make_unique<CnnEmbedding>());
  harness.open();
  std::int64_t sum = 0;
  const Archive archive = harness.runner().save();
  for (const auto& [name, entry] : archive.entries()) {
    if (entry.type == "f32") sum += static_cast<std::int64_t>(entry.bytes.size() / 4);
  }
  EXPECT_EQ(sum, 2426172);
  EXPECT_NEAR(static_cast<double>(sum), 2425536, 0.0005 * 2425536);
}

TEST(CnnEmbedding, GivesVectorsOfUnitLengthForAnySize) {
  Harness harness("model", std::make_unique<CnnEmbedding>());
  harness.set("width", 8).set("channels", 24).push(batch(33, 20)).push(batch(1, 1));
  ASSERT_TRUE(harness.errors().empty());
  for (const Packet& out : harness.outputs()) {
    EXPECT_EQ(out[field::embedding].sizes(), (std::vector<std::int64_t>{3, 368}));
    EXPECT_TRUE(torch::allclose(out[field::embedding].norm(2, 1), torch::ones({3})));
  }
}

}  // namespace cnn_embedding_test
}  // namespace seam::stages
