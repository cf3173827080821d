#include "stages/dataset/mnist.hpp"

#include <algorithm>
#include <seam/conformance.hpp>

#include "tests/stages/dataset/idx_files.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::mnist_test {

using seam::testing::Harness;
using Texts = std::vector<std::string>;

/// Four pictures of 1x2 pixels.
void write_data_set(const TemporaryFolder& folder) {
  folder.write("train-images-idx3-ubyte", idx({4, 1, 2}, "abcdefgh"));
  folder.write("train-labels-idx1-ubyte", idx({4}, std::string("\x01\x00\x02\x01", 4)));
}

const auto conformance = seam::testing::conformance<Mnist>({
    .parameters = {{"root", std::string("nowhere")}, {"shuffle", true}},
    .connect = rooted_in(&write_data_set),
});

class MnistStage : public DataSetTest<Mnist, &write_data_set> {
 protected:
  [[nodiscard]] std::unique_ptr<Harness> make() const {
    auto harness = DataSetTest::make();
    harness->set("classes", Texts{"boot", "bag", "coat"});
    return harness;
  }
};

TEST_F(MnistStage, ServesPicturesWithTheirLabels) {
  const auto harness = make();
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 4U);
  const Packet& second = harness->outputs()[1];
  EXPECT_EQ(second.get(field::item), "boot");
  EXPECT_EQ(second.get(field::category), 0);
  EXPECT_EQ(second.get(field::index), 1);
  const Image& image = second.get(field::image);
  EXPECT_EQ(image.height(), 1);
  EXPECT_EQ(image.width(), 2);
  EXPECT_THAT(std::vector<std::uint8_t>(image.pixels().begin(), image.pixels().end()),
              ElementsAre('c', 'c', 'c', 'd', 'd', 'd'));
  EXPECT_THAT(second.origin().text(), HasSubstr("train-images-idx3-ubyte (picture 1)"));
  EXPECT_THAT(names_of(*harness), ElementsAre("boot", "bag", "coat"));
}

TEST_F(MnistStage, ItsListingDependsOnPixelsAndLabels) {
  const auto digest = [this] {
    const auto harness = make();
    harness->open();
    return interface_of<Listing>(*harness).listing_digest();
  };
  const std::uint64_t before = digest();
  folder_.write("train-images-idx3-ubyte", idx({4, 1, 2}, "abcdefgi"));
  const std::uint64_t other_pixels = digest();
  EXPECT_NE(other_pixels, before);
  folder_.write("train-labels-idx1-ubyte", idx({4}, std::string("\x01\x00\x02\x00", 4)));
  EXPECT_NE(digest(), other_pixels);
}

TEST_F(MnistStage, ServesPartOfThem) {
  const auto harness = make();
  harness->set("skip", 1).set("limit", 2).produce();
  EXPECT_THAT(indices_of(*harness), ElementsAre(1, 2));
  const auto last = make();
  last->set("skip", 3).set("limit", 2).produce();
  EXPECT_THAT(indices_of(*last), ElementsAre(3));
  EXPECT_THAT(last->log(), has_line("only 1 image is there"));
}

TEST_F(MnistStage, TheOrderDependsOnSeedAndEpochAlone) {
  folder_.write("train-images-idx3-ubyte", idx({64, 1, 1}, std::string(64, 'a')));
  folder_.write("train-labels-idx1-ubyte", idx({64}, std::string(64, '\x01')));
  const auto order = [&](std::uint64_t seed, std::int64_t epoch) {
    const auto harness = make();
    harness->set("shuffle", true).seed(seed).epoch(epoch).produce();
    return indices_of(*harness);
  };
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
  std::vector<std::int64_t> sorted = order(1, 0);
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(sorted.at(static_cast<std::size_t>(i)), i);
}

TEST_F(MnistStage, WhatDoesNotFitIsRefused) {
  const auto refused = [&](const std::function<void(Harness&)>& change) {
    const auto harness = make();
    change(*harness);
    return error_of([&] { harness->open(); });
  };
  EXPECT_EQ(refused([](Harness&) {}), "no error");
  EXPECT_THAT(refused([](Harness& h) { h.set("expect", 5); }), HasSubstr("5 were expected"));
  EXPECT_THAT(refused([](Harness& h) { h.set("skip", 4); }), HasSubstr("no image is left"));
  EXPECT_THAT(refused([](Harness& h) {
                h.set("classes", Texts{"boot", "bag"});
              }),
              HasSubstr("the label of image 2 (from 0) is 2, but 'classes' names 2 labels"));
  EXPECT_THAT(refused([](Harness& h) {
                h.set("classes", Texts{"a", "b", "a"});
              }),
              HasSubstr("names 'a' twice"));
  EXPECT_THAT(refused([](Harness& h) { h.set("classes", Texts{}); }), HasSubstr("is empty"));
  EXPECT_THAT(refused([](Harness& h) { h.set("split", "test"); }), HasSubstr("t10k-images"));
}

TEST_F(MnistStage, FilesThatDoNotFitEachOtherAreRefused) {
  folder_.write("train-labels-idx1-ubyte", idx({3}, std::string(3, '\0')));
  EXPECT_REFUSED(make()->open(), Fault::data, "4 images");
  write_file_compressed(folder_.path() / "train-labels-idx1-ubyte.gz",
                        idx({4}, std::string(4, '\0')));
  EXPECT_REFUSED(make()->open(), Fault::data, "has both");
}

TEST_F(MnistStage, TheRealFashionMnistIsRead) {
  const auto root = test_data("fashion-mnist");
  if (root.empty()) GTEST_SKIP() << "no fashion-mnist in SEAM_TEST_DATA";
  Harness harness("pictures", std::make_unique<Mnist>());
  harness.set("root", root.string()).set("split", "test").set("expect", 10'000).produce();
  ASSERT_EQ(harness.outputs().size(), 10'000U);
  std::map<std::int64_t, int> of_class;
  std::vector<std::int64_t> first;
  for (const Packet& packet : harness.outputs()) {
    ++of_class[packet.get(field::category)];
    if (first.size() < 8) first.push_back(packet.get(field::category));
  }
  ASSERT_EQ(of_class.size(), 10U);
  for (const auto& [label, images] : of_class) EXPECT_EQ(images, 1000) << label;
  EXPECT_THAT(first, ElementsAre(9, 2, 1, 1, 6, 1, 4, 6));  // the published order
}

}  // namespace seam::stages::mnist_test
