#include "stages/retrieval/gallery_index.hpp"

#include <torch/utils.h>

#include <memory>
#include <seam/error.hpp>
#include <vector>

#include "stages/retrieval/gallery_items.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::gallery_index_test {

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
  in_order.build();
  GalleryIndex shuffled;
  shuffled.add(batch_of({3, 1}, {"c", "b"}, torch::stack({vectors[3], vectors[1]})));
  shuffled.add(batch_of({0, 2}, {"a", "a"}, torch::stack({vectors[0], vectors[2]})));
  shuffled.build();

  EXPECT_EQ(in_order.search(vectors, {}), shuffled.search(vectors, {}));
  const GalleryItems numbered(shuffled.rows());
  EXPECT_THAT(std::vector(numbered.of_rows().begin(), numbered.of_rows().end()),
              ElementsAre(0, 1, 0, 2));
  EXPECT_EQ(numbered.count(), 3);
  EXPECT_EQ(numbered.images_of(numbered.number_of("a").value()), 2);
  EXPECT_FALSE(numbered.number_of("d"));
  EXPECT_EQ(numbered.row_of_id(2), 2);
  EXPECT_FALSE(numbered.row_of_id(9));
}

TEST(GalleryIndex, VectorsAreThoseOfTheirRowsAfterManyBatchesInAnyOrder) {
  torch::manual_seed(2);
  const torch::Tensor ids = torch::randperm(700);
  const torch::Tensor vectors = torch::randn({700, 5});
  const torch::Tensor predicted = torch::randn({700, 5});
  GalleryIndex gallery;
  for (std::int64_t first = 0; first < 700; first += 100) {
    std::vector<std::int64_t> numbers;
    for (std::int64_t row = first; row < first + 100; ++row) {
      numbers.push_back(ids[row].item<std::int64_t>());
    }
    const torch::Tensor of_batch = ids.narrow(0, first, 100);
    GalleryBatch batch =
        batch_of(numbers, std::vector<std::string>(100, "a"), vectors.index_select(0, of_batch));
    batch.vectors[Mask::predicted] = predicted.index_select(0, of_batch);
    gallery.add(batch);
  }
  gallery.build();
  EXPECT_TRUE(gallery.vectors(Mask::none).equal(vectors));
  EXPECT_TRUE(gallery.vectors(Mask::predicted).equal(predicted));
}

TEST(GalleryIndex, NothingOfARefusedBatchIsKept) {
  GalleryIndex gallery;
  gallery.add(batch_of({1}, {"b"}, torch::ones({1, 3})));
  GalleryBatch batch = batch_of({0, 2}, {"a", "c"}, torch::zeros({2, 3}));
  batch.files = {"one.jpg"};
  EXPECT_REFUSED(gallery.add(batch), Fault::internal, "has 2 rows and 1 files");
  gallery.build();
  EXPECT_TRUE(gallery.vectors(Mask::none).equal(torch::ones({1, 3})));
}

TEST(GalleryItems, RefusesRowsOutOfOrder) {
  const std::vector<retrieval::GalleryRow> rows{{4, "a", 0, {}}, {3, "b", 0, {}}};
  EXPECT_REFUSED(GalleryItems numbered(rows), Fault::internal, "4 comes before 3");
  const std::vector<retrieval::GalleryRow> twice{{3, "a", 0, {}}, {3, "b", 0, {}}};
  EXPECT_REFUSED(GalleryItems numbered(twice), Fault::internal,
                 "the gallery's rows are not in ascending order of id: 3 comes before 3");
}

TEST(GalleryIndex, RowsWithoutIdsAreNumberedAsTheyCome) {
  GalleryIndex gallery;
  gallery.add(batch_of({-1, -1}, {"a", "b"}, torch::ones({2, 3})));
  gallery.build();
  EXPECT_EQ(GalleryItems(gallery.rows()).row_of_id(1), 1);
}

TEST(GalleryIndex, TheMetricIsThatOfTheMaskWhateverTheVectorsAre) {
  for (const float length : {1.F, 0.5F}) {
    GalleryIndex gallery;
    GalleryBatch batch = batch_of({0, 1}, {"a", "b"}, torch::ones({2, 4}));
    batch.vectors[Mask::predicted] = torch::eye(4).slice(0, 0, 2);
    batch.vectors[Mask::predicted][1] *= length;  // one vector with a different length
    gallery.add(batch);
    gallery.build();
    EXPECT_EQ(gallery.metric(Mask::none), Metric::squared_euclidean);
    EXPECT_EQ(gallery.metric(Mask::predicted), Metric::cosine);
    retrieval::SearchRequest request;
    request.mask = Mask::predicted;
    request.k = 1;
    const torch::Tensor query = torch::eye(4).slice(0, 2, 3);
    EXPECT_THAT(gallery.search(query, request).distances, ElementsAre(2.F)) << length;
  }
}

TEST(GalleryIndex, IsTheSameAfterSavingAndLoading) {
  GalleryIndex gallery;
  GalleryBatch batch = batch_of({7, 2, 5}, {"a", "b", "a"}, torch::eye(3));
  batch.vectors[Mask::ground_truth] = torch::eye(3);
  batch.input = {64, 48};
  batch.files = {"7.jpg", "2.jpg", "5.jpg"};
  gallery.add(batch);
  gallery.set_trainings(4);
  gallery.set_data_difference("only 3 images");
  gallery.build();
  Archive archive;
  gallery.save(archive);

  GalleryIndex loaded;
  loaded.load(archive);
  EXPECT_EQ(loaded.trainings(), 4);
  EXPECT_EQ(loaded.input(), (retrieval::InputSize{64, 48}));
  EXPECT_EQ(loaded.data_difference(), "only 3 images");
  EXPECT_THAT(loaded.files(), ElementsAre("2.jpg", "5.jpg", "7.jpg"));
  ASSERT_EQ(loaded.rows().size(), 3);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(loaded.rows()[row].id, gallery.rows()[row].id);
    EXPECT_EQ(loaded.rows()[row].item, gallery.rows()[row].item);
    EXPECT_EQ(loaded.rows()[row].category, 0);
    EXPECT_EQ(loaded.rows()[row].origin, gallery.rows()[row].origin);
  }
  for (const Mask mask : {Mask::none, Mask::ground_truth}) {
    retrieval::SearchRequest request;
    request.mask = mask;
    EXPECT_EQ(loaded.search(torch::ones({1, 3}), request),
              gallery.search(torch::ones({1, 3}), request));
  }
  retrieval::SearchRequest request;
  request.mask = Mask::predicted;
  EXPECT_REFUSED(static_cast<void>(loaded.search(torch::ones({1, 3}), request)), Fault::internal,
                 "no vectors under mask 'predicted'");
  loaded.clear();
  EXPECT_EQ(loaded.data_difference(), "");
}

TEST(GalleryIndex, AnUnbuiltOneIsSavedAsNothing) {
  Archive archive;
  GalleryIndex().save(archive);
  EXPECT_TRUE(archive.empty());
  GalleryIndex loaded;
  loaded.load(archive);
  EXPECT_FALSE(loaded.ready());
}

TEST(GalleryIndex, RefusesAnEmptyGalleryDoublesAndNaN) {
  GalleryIndex empty;
  EXPECT_REFUSED(empty.build(), Fault::data, "the gallery is empty");

  GalleryIndex doubled;
  doubled.add(batch_of({4, 4}, {"a", "b"}, torch::ones({2, 3})));
  EXPECT_REFUSED(doubled.build(), Fault::data,
                 "two gallery images have index 4: list.txt:5 (a) and list.txt:5 (b)");

  GalleryIndex damaged;
  damaged.add(batch_of({8, 7}, {"a", "b"}, torch::tensor({{std::nanf(""), 0.F}, {1.F, 0.F}})));
  EXPECT_REFUSED(damaged.build(), Fault::data,
                 "the embedding of 'list.txt:9 (a)' has elements that are NaN");
}

TEST(GalleryIndex, AFailedBuildLeavesNothingToSearch) {
  GalleryIndex gallery;
  GalleryBatch batch = batch_of({0}, {"a"}, torch::ones({1, 3}));
  batch.vectors[Mask::predicted] = torch::zeros({1, 3});  // no direction, and compared by cosine
  gallery.add(batch);
  EXPECT_REFUSED(gallery.build(), Fault::data, "is zero (length 0); cosine");
  EXPECT_FALSE(gallery.ready());
}

TEST(GalleryIndex, RefusesAGalleryOfWhichSomeHaveAnIndex) {
  GalleryIndex gallery;
  gallery.add(batch_of({-1, 4}, {"a", "b"}, torch::ones({2, 3})));
  EXPECT_REFUSED(gallery.build(), Fault::data, "either all images of a gallery");
}

TEST(GalleryIndex, SaysUnderWhichMaskABatchDoesNotFit) {
  GalleryIndex gallery;
  gallery.add(batch_of({0}, {"a"}, torch::ones({1, 3})));
  EXPECT_REFUSED(gallery.add(batch_of({1}, {"b"}, torch::ones({1, 4}))), Fault::data,
                 "list.txt:1 (a) has 3 and list.txt:2 (b) has 4");
  EXPECT_REFUSED(gallery.add(batch_of({1}, {"a"}, torch::ones({2, 3}))), Fault::internal,
                 "a batch of 1 image for the gallery has 2 vectors under mask 'none'");
  GalleryBatch batch = batch_of({1}, {"a"}, torch::ones({1, 3}));
  batch.vectors[Mask::predicted] = torch::ones({1, 3});
  EXPECT_REFUSED(gallery.add(batch), Fault::internal, "the first vectors under mask 'predicted'");
  batch.vectors.erase(Mask::none);
  EXPECT_REFUSED(gallery.add(batch), Fault::internal, "no vectors under mask 'none'");
}

TEST(GatheredRows, AreInTheOrderAskedForHoweverTheyCame) {
  torch::manual_seed(1);
  for (const std::int64_t dimensions : {1, 7}) {
    const torch::Tensor vectors = torch::randn({531, dimensions});
    for (const torch::Tensor& order :
         {torch::arange(531), torch::arange(531).flip(0), torch::randperm(531),
          torch::arange(531).roll(1), torch::arange(531).roll(200)}) {
      GatheredRows gathered;
      EXPECT_EQ(gathered.dimensions(), 0);
      std::int64_t first = 0;
      for (const std::int64_t count : {0, 1, 63, 1, 0, 200, 266}) {
        gathered.add(vectors.narrow(0, first, count));
        first += count;
      }
      ASSERT_EQ(gathered.size(), 531);
      EXPECT_EQ(gathered.dimensions(), dimensions);
      const std::vector<std::int64_t> places(order.data_ptr<std::int64_t>(),
                                             order.data_ptr<std::int64_t>() + 531);
      const torch::Tensor taken = gathered.take_in_order(places);
      EXPECT_TRUE(taken.is_contiguous());
      EXPECT_TRUE(taken.equal(vectors.index_select(0, order)));
      EXPECT_EQ(gathered.size(), 0);
      EXPECT_EQ(gathered.dimensions(), 0);
    }
  }
}

TEST(GatheredRows, AreCopiesInFloat32OfAnyTypeAndLayout) {
  torch::Tensor vectors = torch::tensor({{1.5, 2.5}, {-3.0, 0.25}}, torch::kFloat64);
  GatheredRows gathered;
  gathered.add(vectors.t());
  gathered.add(vectors.to(torch::kBFloat16));
  vectors.zero_();
  const torch::Tensor taken = gathered.take_in_order(std::vector<std::int64_t>{3, 0, 2, 1});
  EXPECT_TRUE(
      taken.equal(torch::tensor({{-3.0F, 0.25F}, {1.5F, -3.0F}, {1.5F, 2.5F}, {2.5F, 0.25F}})));
}

TEST(GatheredRows, RefuseOtherWidthsAndOrdersThatAreNoPermutation) {
  GatheredRows gathered;
  gathered.add(torch::ones({3, 2}));
  EXPECT_REFUSED(gathered.add(torch::ones({1, 3})), Fault::internal,
                 "cannot be collected with those of 2");
  for (const std::vector<std::int64_t>& order : std::vector<std::vector<std::int64_t>>{
           {}, {0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}, {0, 1, 2, 2}}) {
    EXPECT_REFUSED(static_cast<void>(gathered.take_in_order(order)), Fault::internal,
                   "must contain each of them once");
  }
  EXPECT_EQ(gathered.take_in_order(std::vector<std::int64_t>{2, 1, 0}).size(0), 3);
}

}  // namespace seam::stages::gallery_index_test
