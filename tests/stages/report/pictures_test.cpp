#include "stages/report/pictures.hpp"

#include <algorithm>
#include <fstream>
#include <seam/conformance.hpp>

#include "stages/reconstruction.hpp"
#include "stages/report/contact_sheet.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::pictures_test {

using seam::testing::Harness;
using Json = nlohmann::ordered_json;

Packet triplet(std::uint64_t sequence = 0) {
  Packet packet;
  packet.set_sequence(sequence);
  packet.set(field::images, torch::full({3, 3, 8, 6}, 0.5F));
  packet.set(field::items, std::vector<std::string>{"id_1", "id_1", "id_2"});
  packet.set(field::groups, std::vector<std::int64_t>{0, 0, 0});
  packet.set(field::roles, std::vector<Role>{Role::anchor, Role::positive, Role::negative});
  return packet;
}

const auto conformance = seam::testing::conformance<FedPictures>({
    .packets =
        [](Harness&) {
          return std::vector<Packet>{triplet(), triplet()};
        },
});

class FedPicturesTest : public ::testing::Test {
 protected:
  FedPicturesTest() { harness_.run_directory(run_.path()); }

  [[nodiscard]] std::filesystem::path file(const std::string& name) const {
    return run_.path() / "pictures/fed" / name;
  }
  [[nodiscard]] Json set(const std::string& name) const {
    std::ifstream stream(file(name));
    return Json::parse(stream);
  }

  test::TemporaryFolder run_;
  Harness harness_{"fed", std::make_unique<FedPictures>()};
};

TEST_F(FedPicturesTest, DrawsTheFirstBatchesAndHandsAllOn) {
  harness_.set("batches", 2);
  const Packet packet = triplet();
  harness_.push(packet).push(triplet()).push(triplet()).finish();
  ASSERT_THAT(harness_.outputs(), SizeIs(3));
  EXPECT_TRUE(torch::equal(harness_.outputs()[0].get(field::images), packet.get(field::images)));
  EXPECT_THAT(set("epoch-0000.json").at("sheets"), SizeIs(2));
  EXPECT_TRUE(std::filesystem::exists(file("epoch-0000/batch-0.jpg")));
  EXPECT_TRUE(std::filesystem::exists(file("epoch-0000/batch-1.jpg")));
  EXPECT_FALSE(std::filesystem::exists(file("epoch-0000/batch-2.jpg")));
}

TEST_F(FedPicturesTest, DrawsInTheFirstEpochOrInEachKth) {
  harness_.epoch(1).push(triplet()).finish();
  EXPECT_FALSE(std::filesystem::exists(file("epoch-0001.json")));
  Harness every("fed", std::make_unique<FedPictures>());
  every.run_directory(run_.path()).set("every", 2);
  for (const int epoch : {0, 1, 2}) every.epoch(epoch).push(triplet()).finish();
  EXPECT_TRUE(std::filesystem::exists(file("epoch-0000.json")));
  EXPECT_FALSE(std::filesystem::exists(file("epoch-0001.json")));
  EXPECT_TRUE(std::filesystem::exists(file("epoch-0002.json")));
}

TEST_F(FedPicturesTest, DrawsReconstructionsBesideTheirImages) {
  harness_.set("batches", 2).push(triplet());
  Packet packet = triplet();
  packet.set(field::reconstruction, torch::full({3, 3, 16, 12}, 0.25F));
  harness_.push(packet).finish();
  const Image alone = read_thumbnail(file("epoch-0000/batch-0.jpg"), 1000);
  const Image beside = read_thumbnail(file("epoch-0000/batch-1.jpg"), 1000);
  EXPECT_EQ(beside.width(), 2 * alone.width());
  EXPECT_EQ(beside.height(), alone.height());
  EXPECT_THAT(set("epoch-0000.json").at("note").get<std::string>(),
              HasSubstr("Next to each: its reconstruction"));
}

TEST_F(FedPicturesTest, SaysThatValuesAreCutOff) {
  Packet packet = triplet();
  packet.set(field::images, torch::full({3, 3, 8, 6}, -2.0F));
  harness_.push(packet).finish();
  EXPECT_THAT(set("epoch-0000.json").at("note").get<std::string>(), HasSubstr("are clipped"));
  ASSERT_FALSE(harness_.log().empty());
  EXPECT_THAT(harness_.log().back().text, HasSubstr("give this stage the same"));
}

TEST_F(FedPicturesTest, RefusesWrongNumbersOfChannels) {
  harness_.set("mean", std::vector<double>{0.5});
  EXPECT_REFUSED(harness_.open(), Fault::configuration, "parameter 'mean' has 1 numbers");
}

TEST(PictureOf, UndoesTheNormalisation) {
  using torch::tensor;
  const auto mean = tensor({0.1F, 0.2F, 0.3F}).view({3, 1, 1});
  const auto deviation = tensor({0.5F, 0.25F, 2.F}).view({3, 1, 1});
  const auto pixel = tensor({0.F, 0.5F, 1.F}).view({1, 3, 1, 1});
  std::int64_t clipped = 0;
  const auto image = picture_of((pixel - mean) / deviation, 0, mean, deviation, clipped);
  EXPECT_EQ(image.data()[0], 0);
  EXPECT_EQ(image.data()[1], 128);
  EXPECT_EQ(image.data()[2], 255);
  EXPECT_EQ(clipped, 0);
  const auto odd = tensor({NAN, 1.5F, -1.F}).view({1, 3, 1, 1});
  const auto one = torch::ones({3, 1, 1});
  const auto cut = picture_of(odd, 0, one * 0, one, clipped);
  EXPECT_EQ(clipped, 3);
  EXPECT_EQ(cut.data()[0], 0);
  EXPECT_EQ(cut.data()[1], 255);
}

TEST(SheetColumns, KeepGroupsTogether) {
  EXPECT_EQ(sheet_columns(std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}, 10), 9U);
  EXPECT_EQ(sheet_columns(std::vector<std::int64_t>(96, 0), 12), 12U);
  EXPECT_EQ(sheet_columns(std::vector<std::int64_t>{-1, -1, -1}, 12), 3U);
  EXPECT_EQ(sheet_columns({}, 12), 1U);
}

TEST(ContactSheet, HasRoomForAll) {
  std::vector<SheetCell> cells(5);
  for (auto& cell : cells) {
    cell.image = Image(4, 8, 3);
    std::fill_n(cell.image.data(), cell.image.bytes(), std::uint8_t{0});
    cell.text = {"7 anchor", "an item with a very long name, ü"};
  }
  // The last cell: a red left half and a blue right one.
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 8; ++x) cells[4].image.data()[(y * 8 + x) * 3 + (x < 4 ? 0 : 2)] = 255;
  }
  const Image sheet = contact_sheet(cells, 2, 64);
  EXPECT_EQ(sheet.width(), 2 * (64 + 8));
  EXPECT_EQ(sheet.height(), 3 * (64 + 8 + 26));
  const auto pixel = [&sheet](int x, int y) {
    const std::uint8_t* at = sheet.data() + (y * sheet.width() + x) * 3;
    return std::array<int, 3>{at[0], at[1], at[2]};
  };
  // It is enlarged to 64 x 32 pixels in the middle of its cell, without colours of its own between
  // the halves.
  const int left = 4;
  const int middle = 2 * (64 + 8 + 26) + 4 + 32;
  using Colour = std::array<int, 3>;
  EXPECT_EQ(pixel(left + 1, middle), (Colour{255, 0, 0}));
  EXPECT_EQ(pixel(left + 31, middle), (Colour{255, 0, 0}));
  EXPECT_EQ(pixel(left + 32, middle), (Colour{0, 0, 255}));
  EXPECT_EQ(pixel(left + 62, middle), (Colour{0, 0, 255}));
  EXPECT_EQ(pixel(left + 32, middle - 20), (Colour{255, 255, 255})) << "above the picture";
}

TEST(ContactSheet, LargePicturesAreAveraged) {
  std::vector<SheetCell> cells(1);
  cells[0].image = Image(128, 128, 3);
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 128; ++x) {
      std::fill_n(cells[0].image.data() + (y * 128 + x) * 3, 3,
                  static_cast<std::uint8_t>((x + y) % 2 * 200));
    }
  }
  const Image sheet = contact_sheet(cells, 1, 64);
  EXPECT_EQ(sheet.data()[(36 * sheet.width() + 36) * 3], 100) << "a chequerboard becomes grey";
}

}  // namespace seam::stages::pictures_test
