#include "stages/retrieval/gallery_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <seam/error.hpp>

namespace {

using seam::stages::GalleryBatch;
using seam::stages::GalleryIndex;
using seam::stages::Mask;
using seam::stages::Metric;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GalleryBatch batch_of(const std::vector<std::int64_t>& ids, const std::vector<std::string>& items,
                      const torch::Tensor& vectors) {
  GalleryBatch batch;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    batch.rows.push_back(
        {ids[i], items[i], 0, {std::make_shared<std::string>("list.txt"), ids[i] + 1, items[i]}});
  }
  batch.vectors[Mask::none] = vectors;
  return batch;
}

TEST(GalleryIndex, TheOrderOfArrivalDecidesNothing) {
  torch::manual_seed(1);
  const torch::Tensor vectors = torch::randn({4, 3}).round().add(0.5);
  const std::vector<std::string> items{"a", "b", "a", "c"};
  GalleryIndex in_order;
  in_order.add(batch_of({0, 1, 2, 3}, items, vectors));
  in_order.build(Metric::squared_euclidean);
  GalleryIndex shuffled;
  shuffled.add(batch_of({3, 1}, {"c", "b"}, torch::stack({vectors[3], vectors[1]})));
  shuffled.add(batch_of({0, 2}, {"a", "a"}, torch::stack({vectors[0], vectors[2]})));
  shuffled.build(Metric::squared_euclidean);

  EXPECT_EQ(in_order.index(Mask::none).search(vectors, {}),
            shuffled.index(Mask::none).search(vectors, {}));
  EXPECT_THAT(std::vector(shuffled.item_of_row().begin(), shuffled.item_of_row().end()),
              ElementsAre(0, 1, 0, 2));
  EXPECT_EQ(shuffled.items(), 3);
  EXPECT_EQ(shuffled.images_of(shuffled.item_number("a").value()), 2);
  EXPECT_FALSE(shuffled.item_number("d"));
  EXPECT_EQ(shuffled.row_of_id(2), 2);
  EXPECT_FALSE(shuffled.row_of_id(9));
}

TEST(GalleryIndex, RowsWithoutIdsAreNumberedAsTheyCome) {
  GalleryIndex gallery;
  gallery.add(batch_of({-1, -1}, {"a", "b"}, torch::ones({2, 3})));
  gallery.build(Metric::cosine);
  EXPECT_EQ(gallery.row_of_id(1), 1);
}

TEST(GalleryIndex, MaskedVectorsAreComparedByAngleWhereTheyHaveUnitLength) {
  for (const float length : {1.F, 0.5F}) {
    GalleryIndex gallery;
    GalleryBatch batch = batch_of({0, 1}, {"a", "b"}, torch::ones({2, 4}));
    batch.vectors[Mask::predicted] = length * torch::eye(4).slice(0, 0, 2);
    gallery.add(batch);
    gallery.build(Metric::squared_euclidean);
    EXPECT_EQ(gallery.index(Mask::none).metric(), Metric::squared_euclidean);
    EXPECT_EQ(gallery.index(Mask::predicted).metric(),
              length == 1.F ? Metric::cosine : Metric::squared_euclidean);
  }
}

TEST(GalleryIndex, IsTheSameAfterSavingAndLoading) {
  GalleryIndex gallery;
  GalleryBatch batch = batch_of({7, 2, 5}, {"a", "b", "a"}, torch::eye(3));
  batch.vectors[Mask::ground_truth] = torch::eye(3);
  gallery.add(batch);
  gallery.set_trainings(4);
  gallery.build(Metric::squared_euclidean);
  seam::Archive archive;
  gallery.save(archive);

  GalleryIndex loaded;
  loaded.load(archive, Metric::squared_euclidean);
  EXPECT_EQ(loaded.trainings(), 4);
  ASSERT_EQ(loaded.size(), 3);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(loaded.rows()[row].id, gallery.rows()[row].id);
    EXPECT_EQ(loaded.rows()[row].item, gallery.rows()[row].item);
    EXPECT_EQ(loaded.rows()[row].category, 0);
    EXPECT_EQ(loaded.rows()[row].origin, gallery.rows()[row].origin);
  }
  for (const Mask mask : {Mask::none, Mask::ground_truth}) {
    EXPECT_EQ(loaded.index(mask).search(torch::ones({1, 3}), {}),
              gallery.index(mask).search(torch::ones({1, 3}), {}));
  }
  EXPECT_FALSE(loaded.has(Mask::predicted));
}

TEST(GalleryIndex, AnUnbuiltOneIsSavedAsNothing) {
  seam::Archive archive;
  GalleryIndex().save(archive);
  EXPECT_TRUE(archive.empty());
  GalleryIndex loaded;
  loaded.load(archive, Metric::cosine);
  EXPECT_FALSE(loaded.built());
}

std::string message_of_build(GalleryIndex& gallery) {
  try {
    gallery.build(Metric::cosine);
  } catch (const seam::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(GalleryIndex, RefusesAnEmptyGalleryDoublesAndNaN) {
  GalleryIndex empty;
  EXPECT_THAT(message_of_build(empty), HasSubstr("empty"));

  GalleryIndex doubled;
  doubled.add(batch_of({4, 4}, {"a", "b"}, torch::ones({2, 3})));
  EXPECT_THAT(message_of_build(doubled), AllOf(HasSubstr("index 4"), HasSubstr("list.txt:5 (b)")));

  GalleryIndex damaged;
  damaged.add(batch_of({8, 7}, {"a", "b"}, torch::tensor({{std::nanf(""), 0.F}, {1.F, 0.F}})));
  EXPECT_THAT(message_of_build(damaged), AllOf(HasSubstr("list.txt:9 (a)"), HasSubstr("NaN")));
}

TEST(GalleryIndex, RefusesVectorsOfAnotherLength) {
  GalleryIndex gallery;
  gallery.add(batch_of({0}, {"a"}, torch::ones({1, 3})));
  EXPECT_THROW(gallery.add(batch_of({1}, {"a"}, torch::ones({1, 4}))), seam::Error);
  EXPECT_THROW(gallery.add(batch_of({1}, {"a"}, torch::ones({2, 3}))), seam::Error);
}

TEST(GalleryIndex, ClearsForTheNextEpoch) {
  GalleryIndex gallery;
  gallery.add(batch_of({0}, {"a"}, torch::ones({1, 3})));
  gallery.build(Metric::cosine);
  gallery.clear();
  EXPECT_FALSE(gallery.built());
  gallery.add(batch_of({0, 1}, {"a", "b"}, torch::ones({2, 5})));
  gallery.build(Metric::cosine);
  EXPECT_EQ(gallery.size(), 2);
}

}  // namespace
