#include "stages/report/contact_sheet.hpp"

#include <gtest/gtest.h>

#include <seam/refusal_testing.hpp>

#include "stages/image/decode_image.hpp"
#include "stages/image/encode_jpeg.hpp"
#include "tests/stages/dataset/tars.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::contact_sheet_test {

Origin origin(const std::filesystem::path& list, const std::string& item) {
  return {std::make_shared<const std::string>(list.string()), 1, item};
}

TEST(FileOf, LooksFromTheListUpwardsOrInTheRoot) {
  const test::TemporaryFolder folder;
  const auto picture = folder.write("set/img/a.jpg", "x");
  EXPECT_EQ(file_of(origin(folder.path() / "set/Eval/list.txt", "img/a.jpg"), ""), picture);
  EXPECT_EQ(file_of(origin(folder.path() / "set", "img/a.jpg"), ""), picture);
  EXPECT_EQ(file_of(origin("elsewhere.csv", "a.jpg"), folder.path() / "set/img"), picture);
  EXPECT_EQ(file_of(origin("elsewhere.csv", picture.string()), ""), picture);
  EXPECT_EQ(file_of(origin(folder.path() / "set", "img/a.jpg"), "", "/data/a.jpg"), "/data/a.jpg");
}

TEST(FileOf, SaysWhatIsNotThere) {
  const test::TemporaryFolder folder;
  constexpr auto fault = Fault::data;
  EXPECT_REFUSED(file_of(origin(folder.path() / "list.txt", "a.jpg"), ""), fault, "set 'root'");
  EXPECT_REFUSED(file_of(origin("list.txt", "a.jpg"), folder.path()), fault, "no file");
  EXPECT_REFUSED(file_of(origin("list.txt", ""), ""), fault, "does not provide a file");
  EXPECT_REFUSED(file_of({}, ""), fault, "does not provide a file");
}

TEST(FileOf, FindsImagesInTars) {
  const test::TemporaryFolder folder;
  const auto bytes = encode_jpeg(Image(20, 40, 3));
  const auto tar = folder.write(
      "t.tar", tars::member("a.jpg", std::string(bytes.begin(), bytes.end())) + tars::end);
  folder.write("a.jpg", "another image");
  EXPECT_EQ(file_of(origin(tar, "a.jpg"), ""), tar / "a.jpg");
  EXPECT_EQ(read_thumbnail(tar / "a.jpg", 100).width(), 40);
  EXPECT_REFUSED((void)read_thumbnail(tar / "b.jpg", 100), Fault::data, "has no member 'b.jpg'");
  EXPECT_REFUSED((void)file_of(origin("pipe:cat t.tar", "a.jpg"), ""), Fault::data,
                 "output of a command");
}

TEST(Thumbnail, KeepsTheProportions) {
  const Image wide(20, 400, 3);
  EXPECT_EQ(thumbnail_of(wide, 100).width(), 100);
  EXPECT_EQ(thumbnail_of(wide, 100).height(), 5);
  EXPECT_EQ(thumbnail_of(wide, 400), wide);
  EXPECT_EQ(thumbnail_of(Image(1, 1000, 3), 16).height(), 1);
}

TEST(Jpeg, KeepsTheColours) {
  Image image(16, 16, 3);
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = i % 3 == 0 ? 220 : 10;
  const Image back = decode_image(encode_jpeg(image), "x");
  EXPECT_NEAR(back.data()[0], 220, 6);
  EXPECT_NEAR(back.data()[2], 10, 6);
}

}  // namespace seam::stages::contact_sheet_test
