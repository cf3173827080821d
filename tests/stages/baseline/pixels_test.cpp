#include "stages/baseline/pixels.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>

#include <cmath>
#include <limits>

#include "tests/stages/baseline/packets.hpp"
#include "tests/stages/retrieval/batches.hpp"

namespace seam::stages::pixels_test {

using seam::testing::Harness;

using baseline_test::packet_of;

const auto conformance = seam::testing::conformance<Pixels>({
    .packets = &baseline_test::packets,
});

Tensor embedded(Harness& harness, const Tensor& images) {
  harness.push(packet_of(images)).finish();
  return harness.outputs().empty() ? Tensor() : harness.outputs().front().get(field::embedding);
}

TEST(Pixels, AreCentredAndOfUnitLength) {
  Harness harness("pixels", std::make_unique<Pixels>());
  const Tensor embedding = embedded(harness, torch::arange(6.F).view({1, 3, 1, 2}) / 10);
  ASSERT_TRUE(embedding.defined());
  // 0 to 5 minus 2.5, over the root of 17.5.
  const Tensor expected = (torch::arange(6.F).view({1, 6}) - 2.5) / std::sqrt(17.5);
  EXPECT_TRUE(torch::allclose(embedding, expected, 0, 1e-6)) << embedding;
}

TEST(Pixels, AreTheSameWhateverLayoutTheBatchHas) {
  const Tensor images = torch::arange(36.F).view({1, 3, 3, 4}).sin().abs();
  Harness rows("pixels", std::make_unique<Pixels>());
  Harness planes("pixels", std::make_unique<Pixels>());
  EXPECT_TRUE(torch::equal(embedded(rows, images.contiguous(torch::MemoryFormat::ChannelsLast)),
                           embedded(planes, images)));
}

TEST(Pixels, BrightnessAndContrastDoNotCount) {
  const Tensor picture = torch::arange(12.F).view({1, 3, 2, 2}).sin().abs();
  Harness harness("pixels", std::make_unique<Pixels>());
  const Tensor both = embedded(harness, torch::cat({picture, picture * 0.5 + 0.2}));
  EXPECT_TRUE(torch::allclose(both[0], both[1], 0, 1e-6));
}

TEST(Pixels, CanBeLeftAsTheyAre) {
  Harness harness("pixels", std::make_unique<Pixels>());
  harness.set("centred", false).set("unit_length", false);
  const Tensor images = torch::arange(6.F).view({1, 3, 1, 2});
  EXPECT_TRUE(torch::equal(embedded(harness, images), images.view({1, 6})));
  EXPECT_NE(embedded(harness, images).data_ptr(), images.data_ptr());
}

TEST(Pixels, APictureOfOneGreyIsOrthogonalToAllOthers) {
  for (const float grey : {0.F, 0.1F, 1.F}) {
    Harness harness("pixels", std::make_unique<Pixels>());
    const Tensor embedding = embedded(harness, torch::full({1, 3, 24, 24}, grey));
    EXPECT_TRUE(torch::equal(embedding, torch::full_like(embedding, 1 / std::sqrt(1728.0))))
        << grey;
  }
  Harness harness("pixels", std::make_unique<Pixels>());
  const Tensor one = torch::arange(12.F).view({1, 3, 2, 2}).sin().abs();
  const Tensor both = embedded(harness, torch::cat({one, torch::full_like(one, 0.3F)}));
  EXPECT_NEAR(both[0].dot(both[1]).item<float>(), 0, 1e-6);
  EXPECT_NEAR(both[1].norm().item<float>(), 1, 1e-6);
}

TEST(Pixels, APictureOfOneGreyIsIndexedAndSearched) {
  const Tensor picture = torch::arange(12.F).view({1, 3, 2, 2}).sin().abs();
  const Tensor images = torch::cat({picture, torch::zeros_like(picture), 1 - picture});
  Harness pixels("pixels", std::make_unique<Pixels>());
  const Tensor embedding = embedded(pixels, images);
  retrieval_test::Retrieval stages({1});
  stages.index.push(retrieval_test::batch(0, {"a", "grey", "b"}, embedding)).finish();
  ASSERT_TRUE(stages.index.errors().empty()) << stages.index.errors()[0].full_message();
  stages.evaluate({retrieval_test::batch(7, {"grey", "a", "b"}, embedding.flip(0).roll(-1, 0))});
  ASSERT_TRUE(stages.search.errors().empty()) << stages.search.errors()[0].full_message();
  EXPECT_EQ(stages.recall.metric("r@1"), 1);
}

TEST(Pixels, NaNIsNotHidden) {
  Harness harness("pixels", std::make_unique<Pixels>());
  Tensor images = torch::rand({1, 3, 2, 2});
  images[0][1][0][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(embedded(harness, images).isnan().any().item<bool>());
  Harness none("pixels", std::make_unique<Pixels>());
  EXPECT_EQ(embedded(none, torch::zeros({0, 3, 2, 2})).sizes(), torch::IntArrayRef({0, 12}));
}

}  // namespace seam::stages::pixels_test
