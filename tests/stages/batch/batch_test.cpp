#include "stages/batch/batch.hpp"

#include <algorithm>

#include <seam/box.hpp>
#include <seam/conformance.hpp>

#include "stages/picture_paths.hpp"
#include "tests/stages/image/pictures.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::batch_test {

using seam::testing::Harness;
using test::filled;

Origin origin_of(int line) {
  return {.file = std::make_shared<const std::string>("list.txt"),
          .line = line,
          .item = std::to_string(line) + ".jpg"};
}

/// The picture of line `line`, filled with that number.
Packet picture(int line, int height = 4, int width = 6) {
  Packet packet(origin_of(line));
  packet.set(field::image, filled(height, width, static_cast<std::uint8_t>(line)));
  packet.set(field::index, std::int64_t{line});
  packet.set(field::item, "item " + std::to_string(line));
  packet.set(field::category, std::int64_t{line % 3});
  return packet;
}

Packet member(int line, std::int64_t group, Role role, std::int64_t of = 0) {
  Packet packet = picture(line);
  packet.set(field::group, group);
  if (of != 0) packet.set(field::group_size, of);
  packet.set(field::role, role);
  return packet;
}

const auto conformance = seam::testing::conformance<Batch>({
    .parameters = {{"size", std::int64_t{4}}},
    .packets =
        [](seam::testing::Harness&) {
          std::vector<Packet> packets;
          for (int line = 1; line <= 6; ++line) {
            packets.push_back(member(line, line / 4, Role::single, 3));
          }
          return packets;
        },
    .refused = {{{"mean", std::vector<double>{0.5, 0.5}}}},
});

constexpr Field<std::int64_t> view_key{"view"};
constexpr Field<std::string> caption{"caption"};
constexpr Field<std::array<std::array<float, 2>, 3>> landmarks{"landmarks"};
constexpr Field<std::vector<double>> profile{"profile"};
constexpr Field<Tensor> crop_map{"crop_map"};

Packet with_more(int line) {
  Packet packet = picture(line);
  packet.set(view_key, std::int64_t{10 * line});
  packet.set(caption, "no. " + std::to_string(line));
  const auto at = static_cast<float>(line);
  packet.set(landmarks, {{{at, 1}, {2, 3}, {4, 5}}});
  packet.set(profile, {0.5, 1.0 / line});
  packet.set(crop_map, torch::full({2, 2}, line));
  return packet;
}

const auto carrying = seam::testing::conformance<Batch>({
    .name = "carrying",
    .parameters = {{"size", std::int64_t{4}},
                   {"carry", std::vector<std::string>{"view", "caption", "landmarks as points",
                                                      "profile", "crop_map"}}},
    .packets =
        [](seam::testing::Harness&) {
          std::vector<Packet> packets;
          for (int line = 1; line <= 6; ++line) packets.push_back(with_more(line));
          return packets;
        },
    .refused = {{{"carry", std::vector<std::string>{"item"}}},
                {{"carry", std::vector<std::string>{"view", "view"}}},
                {{"carry", std::vector<std::string>{"view as images"}}},
                {{"carry", std::vector<std::string>{"view as item"}}},
                {{"carry", std::vector<std::string>{"view as view"}}},
                {{"carry", std::vector<std::string>{"view as both", "caption as both"}}},
                {{"carry", std::vector<std::string>{"landmarks"}}},
                {{"carry", std::vector<std::string>{""}}},
                {{"carry", std::vector<std::string>{"view as "}}},
                {{"carry", std::vector<std::string>{"two words"}}}},
});

/// An anchor, a positive and a negative.
std::vector<Packet> triplet(int first_line, std::int64_t group, std::int64_t of = 0) {
  std::vector<Packet> packets;
  packets.push_back(member(first_line, group, Role::anchor, of));
  packets.push_back(member(first_line + 1, group, Role::positive, of));
  packets.push_back(member(first_line + 2, group, Role::negative, of));
  return packets;
}

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() : harness_("batch", std::make_unique<Batch>()) {}

  void push_pictures(int first, int count) {
    for (int i = first; i < first + count; ++i) harness_.push(picture(i));
  }
  void push(std::vector<Packet> packets) { harness_.push_all(std::move(packets)); }
  [[nodiscard]] std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> result;
    for (const Packet& batch : harness_.outputs()) result.push_back(batch.get(field::items).size());
    return result;
  }

  Harness harness_;
};

TEST_F(BatchTest, EmitsAsSoonAsItIsFullAndKeepsALastBatchThatIsNotFull) {
  harness_.set("size", 3);
  push_pictures(1, 2);
  EXPECT_THAT(sizes(), IsEmpty());
  push_pictures(3, 1);
  EXPECT_THAT(sizes(), ElementsAre(3));
  push_pictures(4, 4);
  harness_.finish();
  EXPECT_THAT(sizes(), ElementsAre(3, 3, 1));
  EXPECT_THAT(harness_.drops(), IsEmpty());
}

TEST_F(BatchTest, DropsALastBatchWhereAskedAndSaysSo) {
  harness_.set("size", 3).set("last", "drop");
  push_pictures(1, 7);
  harness_.finish();
  EXPECT_THAT(sizes(), ElementsAre(3, 3));
  ASSERT_THAT(harness_.drops(), SizeIs(1));
  EXPECT_EQ(harness_.drops()[0].origin.line, 7);
  EXPECT_THAT(harness_.drops()[0].reason, HasSubstr("1 of 3"));
}

/// The numbers in each batch of a shard in which the pictures with these numbers arrive.
std::vector<std::vector<std::int64_t>> batches_of_part(const std::vector<int>& numbers) {
  class Keeping final : public Emitter {
   public:
    void emit(Packet packet) override { batches.push_back(packet.get(field::packet_numbers)); }
    void drop(const Packet& /*packet*/, std::string /*reason*/) override {}
    std::vector<std::vector<std::int64_t>> batches;
  } kept;
  seam::testing::RecordingServices services;
  RunState run;
  run.services = &services;
  StageRunner runner("batch", "batch", std::make_unique<Batch>());
  runner.configure({{"size", Value{std::int64_t{3}}}});
  auto& batch = dynamic_cast<Batch&>(runner.stage());
  EXPECT_EQ(batch.batch_size(), 3U);
  batch.begin_part();
  runner.open(run);
  runner.begin(run);
  for (const int number : numbers) {
    Packet packet = picture(number + 1);
    packet.set_sequence(static_cast<std::uint64_t>(number));
    EXPECT_TRUE(runner.collect(run, std::move(packet), kept));
  }
  More more = More::no;
  EXPECT_TRUE(runner.finish(run, &kept, more));
  return kept.batches;
}

TEST_F(BatchTest, InAShardADroppedPictureChangesNoOtherBatch) {
  using Batches = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(batches_of_part({0, 1, 2, 3, 4, 5, 6}), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(batches_of_part({0, 2, 3, 4, 5, 7, 8}), (Batches{{0, 2}, {3, 4, 5}, {7, 8}}));
  EXPECT_EQ(batches_of_part({2, 9, 11}), (Batches{{2}, {9, 11}}));
}

TEST_F(BatchTest, BatchesThatMayBeDroppedAreNotConsecutive) {
  auto stage = std::make_unique<Batch>();
  const Batch& batch = *stage;
  Harness harness("batch", std::move(stage));
  harness.set("last", "drop").open();
  EXPECT_EQ(batch.batch_size(), 0U);
}

TEST_F(BatchTest, GathersTheFieldsRowByRow) {
  harness_.set("size", 2);
  push_pictures(4, 2);
  ASSERT_THAT(harness_.outputs(), SizeIs(1));
  const Packet& batch = harness_.outputs()[0];
  EXPECT_THAT(batch.get(field::items), ElementsAre("item 4", "item 5"));
  EXPECT_THAT(batch.get(field::categories), ElementsAre(1, 2));
  EXPECT_THAT(batch.get(field::indices), ElementsAre(4, 5));
  EXPECT_THAT(batch.get(field::groups), ElementsAre(-1, -1));
  EXPECT_THAT(batch.get(field::roles), ElementsAre(Role::single, Role::single));
  EXPECT_EQ(batch.get(field::origins).at(1).line, 5);
  const Tensor& images = batch.get(field::images);
  EXPECT_THAT(images.sizes(), ElementsAre(2, 3, 4, 6));
  EXPECT_EQ(images.min().item<float>(), 4 / 255.0F);
  EXPECT_EQ(images.max().item<float>(), 5 / 255.0F);

  harness_.push(test::packet_with(filled(4, 6, 0))).finish();
  const Packet& bare = harness_.outputs().back();
  EXPECT_THAT(bare.get(field::items), ElementsAre(""));
  EXPECT_THAT(bare.get(field::categories), ElementsAre(-1));
  EXPECT_THAT(bare.get(field::indices), ElementsAre(-1));
}

TEST_F(BatchTest, NeverSplitsAGroup) {
  harness_.set("size", 7);
  for (int group = 0; group < 5; ++group) push(triplet(3 * group + 1, group));
  harness_.finish();
  EXPECT_THAT(sizes(), ElementsAre(6, 6, 3));
  std::set<std::int64_t> seen;
  for (const Packet& batch : harness_.outputs()) {
    const auto& groups = batch.get(field::groups);
    for (const std::int64_t group : std::set<std::int64_t>(groups.begin(), groups.end())) {
      EXPECT_TRUE(seen.insert(group).second) << "group " << group << " is in two batches";
    }
  }
  EXPECT_THAT(harness_.outputs()[0].get(field::roles),
              ElementsAre(Role::anchor, Role::positive, Role::negative, Role::anchor,
                          Role::positive, Role::negative));
}

TEST_F(BatchTest, DoesNotWaitIfNothingMoreFits) {
  harness_.set("size", 6);
  push(triplet(1, 0, 3));
  push(triplet(4, 1, 3));
  EXPECT_THAT(sizes(), ElementsAre(6));
  for (int line = 7; line <= 12; ++line) harness_.push(member(line, 2, Role::single));
  EXPECT_THAT(sizes(), ElementsAre(6, 6));
}

TEST_F(BatchTest, DropsAGroupThatLostAPicture) {
  harness_.set("size", 6);
  push(triplet(1, 0, 3));
  std::vector<Packet> broken = triplet(4, 1, 3);
  broken.erase(broken.begin() + 1);  // the positive could not be decoded
  push(std::move(broken));
  push(triplet(7, 2, 3));
  harness_.finish();
  ASSERT_THAT(sizes(), ElementsAre(6));
  EXPECT_THAT(harness_.outputs()[0].get(field::indices), ElementsAre(1, 2, 3, 7, 8, 9));
  ASSERT_THAT(harness_.drops(), SizeIs(2));
  EXPECT_EQ(harness_.drops()[0].origin.line, 4);
  EXPECT_EQ(harness_.drops()[1].origin.line, 6);
  EXPECT_THAT(harness_.drops()[0].reason, HasSubstr("2 of 3"));
}

TEST_F(BatchTest, RefusesAGroupLargerThanABatch) {
  harness_.set("size", 2);
  push(triplet(1, 5));
  push(triplet(4, 6, 3));
  ASSERT_THAT(harness_.errors(), SizeIs(4));
  for (const Error& error : harness_.errors()) {
    EXPECT_EQ(error.fault(), Fault::configuration);
    EXPECT_THAT(error.what(), HasSubstr("has more than the 2 images of a batch; raise size"));
  }
}

/// Otherwise half of it would be in another batch, or dropped.
TEST_F(BatchTest, RefusesAGroupLargerThanItsSize) {
  harness_.set("size", 4);
  push(triplet(1, 5, 2));
  EXPECT_THAT(only_error(harness_).what(),
              HasSubstr("group 5 has more images than its group_size, 2"));
}

TEST_F(BatchTest, RefusesSizesThatAreNone) {
  harness_.push(member(1, 5, Role::single, -1));
  push(triplet(2, 6, 3));
  harness_.push(member(5, 7, Role::single, 2)).push(member(6, 7, Role::single, 3)).finish();
  ASSERT_THAT(harness_.errors(), SizeIs(2));
  EXPECT_THAT(harness_.errors()[0].what(), HasSubstr("group_size is -1, but a group has at least"));
  EXPECT_THAT(harness_.errors()[1].what(),
              HasSubstr("images of group 7 have different group_size"));
}

/// Every epoch numbers its groups from 0, and groups far apart may share a number.
TEST_F(BatchTest, AcceptsTheNumberOfAnEarlierGroup) {
  harness_.set("size", 6);
  for (const int group : {0, 1, 0}) push(triplet(3 * group + 1, group, 3));
  harness_.finish();
  push(triplet(1, 0, 3));
  harness_.finish();
  EXPECT_THAT(harness_.errors(), IsEmpty());
  EXPECT_THAT(sizes(), ElementsAre(6, 3, 3));
}

TEST_F(BatchTest, NamesBothPicturesWhereSizesDiffer) {
  harness_.set("size", 4);
  harness_.push(picture(1)).push(picture(2, 5, 6)).push(picture(3)).finish();
  EXPECT_THAT(only_error(harness_).what(),
              AllOf(HasSubstr("list.txt:2"), HasSubstr("6 x 5 pixels"), HasSubstr("list.txt:1"),
                    HasSubstr("6 x 4 pixels"), HasSubstr("image.resize")));
  EXPECT_THAT(sizes(), ElementsAre(2));  // the others go on
}

TEST_F(BatchTest, RefusesGreyPictures) {
  harness_.push(test::packet_with(Image(2, 2, 1)));
  EXPECT_THAT(only_error(harness_).what(), HasSubstr("three channels"));
}

TEST_F(BatchTest, RefusesParametersThatCannotWork) {
  const auto expect_refused = [](const char* parameter, const std::vector<double>& numbers,
                                 const char* message) {
    Harness harness("batch", std::make_unique<Batch>());
    harness.set(parameter, Value{numbers});
    EXPECT_REFUSED(harness.open(), Fault::configuration, message);
  };
  expect_refused("mean", {0.5, 0.5}, "parameter 'mean' has 2 numbers");
  expect_refused("deviation", {0.5, 0.5, 0.0}, "parameter 'deviation' must be above 0");
  for (const char* parameter : {"mean", "deviation"}) {
    for (const double number : {123.675, 1.01, -0.1}) {
      expect_refused(parameter, {0.5, 0.5, number}, "but the values are from 0 to 1; divide");
    }
  }
}

TEST_F(BatchTest, NormalisesAsTold) {
  harness_.set("size", 1)
      .set("mean", Value{std::vector<double>{0.0, 0.5, 1.0}})
      .set("deviation", Value{std::vector<double>{1.0, 0.5, 0.25}});
  harness_.push(test::packet_with(filled(2, 2, 255)));
  ASSERT_THAT(harness_.outputs(), SizeIs(1));
  const Tensor images = harness_.outputs()[0].get(field::images);
  EXPECT_EQ(images[0][0].max().item<float>(), 1);
  EXPECT_EQ(images[0][1].max().item<float>(), 1);
  EXPECT_EQ(images[0][2].max().item<float>(), 0);
}

/// Every value differs from its neighbours in all directions.
Image numbered(int height, int width, int start) {
  Image image(height, width, 3);
  for (std::size_t i = 0; i < image.bytes(); ++i) {
    image.data()[i] = static_cast<std::uint8_t>(start + 7 * static_cast<int>(i));
  }
  return image;
}

TEST_F(BatchTest, CarriesFieldsOfEveryType) {
  harness_.set("size", 2).set(
      "carry", Value{std::vector<std::string>{"view", "caption", "landmarks as points", "profile",
                                              "crop_map as maps"}});
  harness_.push(with_more(3)).push(with_more(5));
  ASSERT_THAT(harness_.outputs(), SizeIs(1));
  const Packet& batch = harness_.outputs()[0];
  EXPECT_TRUE(
      torch::equal(batch.get(Field<Tensor>{"views"}), torch::tensor({30, 50}, torch::kInt64)));
  EXPECT_THAT(batch.get(Field<std::vector<std::string>>{"captions"}),
              ElementsAre("no. 3", "no. 5"));
  EXPECT_TRUE(
      torch::equal(batch.get(Field<Tensor>{"points"}),
                   torch::tensor({3., 1., 2., 3., 4., 5., 5., 1., 2., 3., 4., 5.}, torch::kFloat32)
                       .reshape({2, 3, 2})));
  EXPECT_TRUE(
      torch::equal(batch.get(Field<Tensor>{"profiles"}),
                   torch::tensor({0.5, 1.0 / 3, 0.5, 1.0 / 5}, torch::kFloat64).reshape({2, 2})));
  EXPECT_THAT(batch.get(Field<Tensor>{"maps"}).sizes(), ElementsAre(2, 2, 2));
  EXPECT_EQ(batch.row_mismatch(), "");
  std::set<std::string> rows;
  for (const Packet::Slot& slot : batch.slots()) {
    if (slot.by_row) rows.emplace(slot.name);
  }
  for (const char* name : {"views", "captions", "points", "profiles", "maps"}) {
    EXPECT_TRUE(rows.contains(name)) << name;
  }
}

TEST_F(BatchTest, GathersThePathsOfPicturesWithTheirBoxes) {
  harness_.set("size", 3);
  Packet whole = picture(1);
  whole.set(field::path, std::filesystem::path("a.jpg"));
  Packet part = picture(2);
  part.set(field::path, std::filesystem::path("b.jpg"));
  part.set(field::box, std::array<float, 4>{0, 0, 2, 2});
  harness_.push(whole).push(part).push(picture(3)).finish();
  ASSERT_THAT(harness_.outputs(), SizeIs(1));
  EXPECT_THAT(harness_.outputs()[0].get(field::paths),
              ElementsAre(std::filesystem::path("a.jpg"), boxed_path("b.jpg", {0, 0, 2, 2}),
                          std::filesystem::path()));
  EXPECT_EQ(boxed_path("b.jpg", {0, 0, 2.5, 12}), "b.jpg/0.0,0.0,2.5,12.0");
}

TEST_F(BatchTest, CallsWhatItCarriesByThePlural) {
  EXPECT_EQ(parse_carried("view").name, "views");
  EXPECT_EQ(parse_carried("box").name, "boxes");
  EXPECT_EQ(parse_carried("class").name, "classes");
  EXPECT_EQ(parse_carried("entry").name, "entries");
  EXPECT_EQ(parse_carried("day").name, "days");
  EXPECT_EQ(parse_carried("x_1 as left").name, "left");
  EXPECT_EQ(parse_carried("x_1 as left").from, "x_1");
}

TEST_F(BatchTest, NamesBothPicturesWhereCarriedFieldsDiffer) {
  harness_.set("size", 9).set("carry", Value{std::vector<std::string>{"view", "profile"}});
  Packet longer = with_more(3);
  longer.set(profile, {1, 2, 3});
  Packet other = picture(4);
  other.set(Field<std::string>{"view"}, "front");
  harness_.push(with_more(1)).push(picture(2)).push(longer).push(other).push(with_more(5)).finish();
  ASSERT_THAT(harness_.errors(), SizeIs(3));
  EXPECT_THAT(harness_.errors()[0].what(),
              AllOf(HasSubstr("list.txt:2"), HasSubstr("'view'"), HasSubstr("list.txt:1")));
  EXPECT_THAT(harness_.errors()[1].what(), AllOf(HasSubstr("list.txt:3"), HasSubstr("f64[3]"),
                                                 HasSubstr("list.txt:1"), HasSubstr("f64[2]")));
  EXPECT_THAT(harness_.errors()[2].what(),
              AllOf(HasSubstr("std::string"), HasSubstr("std::int64_t")));
  EXPECT_THAT(sizes(), ElementsAre(2));
}

TEST_F(BatchTest, StartsEveryFlowAfresh) {
  harness_.set("size", 4).set("carry", "profile");
  harness_.push(with_more(1)).finish();
  Packet larger = picture(2, 8, 8);
  larger.set(profile, {1, 2, 3});
  harness_.push(larger).finish();
  EXPECT_THAT(harness_.errors(), IsEmpty());
  EXPECT_THAT(sizes(), ElementsAre(1, 1));
}

TEST(ImagesToTensor, PutsEveryPixelWhereItBelongs) {
  const std::vector<Image> images{numbered(3, 5, 0), numbered(3, 5, 100)};
  BatchMemory memory;
  const Tensor tensor = images_to_tensor(images, memory);
  ASSERT_THAT(tensor.sizes(), ElementsAre(2, 3, 3, 5));
  EXPECT_TRUE(tensor.is_contiguous(torch::MemoryFormat::ChannelsLast));
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < 3; ++y) {
        for (int x = 0; x < 5; ++x) {
          EXPECT_EQ(tensor[n][c][y][x].item<float>(),
                    static_cast<float>(images[n].row(y)[3 * x + c]) / 255.0F);
        }
      }
    }
  }
}

TEST(ImagesToTensor, RefusesImagesOfDifferentSizes) {
  const std::vector<Image> images{numbered(3, 5, 0), numbered(5, 3, 0)};
  BatchMemory memory;
  EXPECT_REFUSED(images_to_tensor(images, memory), Fault::data,
                 "must have one size and three channels");
}

TEST(BatchMemory, GivesMemoryAgainWhenItsTensorIsGone) {
  BatchMemory memory;
  const std::vector<Image> images{numbered(3, 5, 0)};
  Tensor tensor = images_to_tensor(images, memory);
  const void* first = tensor.data_ptr();
  const Tensor other = images_to_tensor(images, memory);
  EXPECT_NE(other.data_ptr(), first);  // still in use
  Tensor view = tensor[0];
  tensor = Tensor();
  EXPECT_NE(images_to_tensor(images, memory).data_ptr(), first);  // the view is in use
  view = Tensor();
  EXPECT_EQ(images_to_tensor(images, memory).data_ptr(), first);
}

TEST(BatchMemory, MayGoBeforeItsTensors) {
  Tensor tensor;
  {
    BatchMemory memory;
    tensor = images_to_tensor(std::vector<Image>{numbered(3, 5, 0)}, memory);
  }
  EXPECT_EQ(tensor[0][0][0][0].item<float>(), 0);
}

TEST(BatchMemory, MayChangeItsSize) {
  BatchMemory memory;
  const std::shared_ptr<float> small = memory.take(10);
  std::shared_ptr<float> large = memory.take(1000);
  const float* where = large.get();
  large.reset();
  EXPECT_EQ(memory.take(1000).get(), where);
}

}  // namespace seam::stages::batch_test
