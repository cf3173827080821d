#include "stages/image/decode.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <seam/conformance.hpp>

#include "stages/file_piece.hpp"
#include "stages/image/decode_image.hpp"
#include "tests/stages/image/encoded.hpp"
#include "tests/stages/image/pictures.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::decode_test {

using seam::testing::Harness;

std::filesystem::path written(const test::TemporaryFolder& folder, const std::string& name,
                              const test::Bytes& bytes) {
  return folder.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Image files that exist while they are in use.
const auto conformance = testing::conformance<Decode>({
    .packets =
        [](testing::Harness&) {
          static const test::TemporaryFolder folder;
          std::vector<Packet> packets(5);
          for (std::size_t at = 0; at < packets.size(); ++at) {
            const int side = 8 + static_cast<int>(at);
            const test::Bytes bytes = test::encode(test::smooth_picture(side, 9), ".png");
            packets[at].set(field::path, written(folder, std::to_string(side) + ".png", bytes));
          }
          return packets;
        },
    .without_effect = {{"cache", "changes only the speed"}},
});

class DecodeTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path write(const std::string& name,
                                            const test::Bytes& bytes) const {
    return written(folder_, name, bytes);
  }

  [[nodiscard]] static Packet packet_for(const std::filesystem::path& path, int line = 7) {
    Packet packet(Origin{.file = std::make_shared<const std::string>("list.txt"),
                         .line = line,
                         .item = path.filename().string()});
    packet.set(field::path, path);
    return packet;
  }

  test::TemporaryFolder folder_;
  Harness harness_{"decode", std::make_unique<Decode>()};
};

TEST_F(DecodeTest, ProvidesTheImageAndKeepsThePath) {
  const test::Bytes png = test::encode(test::smooth_picture(6, 9), ".png");
  const std::filesystem::path path = write("name with blanks 日本.png", png);
  harness_.push(packet_for(path));
  ASSERT_THAT(harness_.outputs(), SizeIs(1));
  EXPECT_EQ(harness_.outputs()[0].get(field::image), decode_image(png, "png"));
  EXPECT_EQ(harness_.outputs()[0].get(field::path), path);
}

TEST_F(DecodeTest, GreyIsTheLumaInAllChannels) {
  Image colours(1, 3, 3);
  const std::array<std::uint8_t, 9> values{255, 0, 0, 10, 200, 30, 77, 77, 77};
  std::ranges::copy(values, colours.data());
  harness_.set("colour", std::string("grey"));
  harness_.push(packet_for(write("colours.png", test::encode(colours, ".png"))));
  ASSERT_THAT(harness_.outputs(), SizeIs(1));
  // 0.299 x 255 = 76.2; 2.99 + 117.4 + 3.42 = 123.8
  EXPECT_THAT(harness_.outputs()[0].get(field::image).pixels(),
              ElementsAre(76, 76, 76, 124, 124, 124, 77, 77, 77));
}

TEST_F(DecodeTest, NamesTheFileThatCannotBeReadAndItsLine) {
  test::Bytes jpeg = test::encode(test::smooth_picture(64, 64), ".jpg");
  jpeg.resize(jpeg.size() / 2);
  harness_.push(packet_for(folder_.path() / "gone.jpg")).push(packet_for(write("cut.jpg", jpeg)));
  harness_.push(packet_for(folder_.path())).push(packet_for(write("empty.jpg", {})));
  ASSERT_THAT(harness_.errors(), SizeIs(4));
  EXPECT_EQ(harness_.errors()[0].fault(), Fault::data);
  EXPECT_THAT(harness_.errors()[0].full_message(),
              AllOf(HasSubstr("gone.jpg"), HasSubstr("No such file"), HasSubstr("list.txt:7")));
  EXPECT_THAT(harness_.errors()[1].full_message(),
              AllOf(HasSubstr("cut.jpg"), HasSubstr("damaged JPEG"), HasSubstr("list.txt:7")));
  EXPECT_THAT(harness_.errors()[2].what(), HasSubstr("folder"));
  EXPECT_THAT(harness_.errors()[3].what(), HasSubstr("empty"));
}

TEST_F(DecodeTest, RefusesMorePixelsThanTheParameterAllows) {
  const std::filesystem::path path =
      write("a.png", test::encode(test::smooth_picture(10, 10), ".png"));
  harness_.set("max_pixels", 99).push(packet_for(path));
  EXPECT_THAT(only_error(harness_).what(), HasSubstr("max_pixels"));
}

TEST_F(DecodeTest, WithACacheAFileThatHasNotChangedIsReadOnce) {
  const test::Bytes first = test::encode(test::smooth_picture(6, 9), ".png");
  const std::filesystem::path path = write("a.png", first);
  harness_.set("cache", 1).push(packet_for(path)).push(packet_for(path));
  ASSERT_THAT(harness_.outputs(), SizeIs(2));
  Image once = harness_.outputs()[0].get(field::image);
  EXPECT_EQ(harness_.outputs()[1].get(field::image), once);
  // A stage that writes into its image does not change the others'.
  once.data()[0] ^= 255U;
  harness_.push(packet_for(path));
  EXPECT_EQ(harness_.outputs()[2].get(field::image), decode_image(first, "png"));
  // Damage with unchanged size and time is not noticed, so the file was not read again.
  const auto written = std::filesystem::last_write_time(path);
  ASSERT_EQ(write("a.png", test::Bytes(first.size())), path);
  std::filesystem::last_write_time(path, written);
  harness_.push(packet_for(path));
  ASSERT_THAT(harness_.errors(), IsEmpty());
  ASSERT_THAT(harness_.outputs(), SizeIs(4));
}

TEST_F(DecodeTest, WithACacheAFileThatChangesIsReadAgain) {
  const std::filesystem::path path =
      write("a.png", test::encode(test::smooth_picture(6, 9), ".png"));
  harness_.set("cache", 1).push(packet_for(path));
  ASSERT_EQ(write("a.png", test::encode(test::smooth_picture(20, 30), ".png")), path);
  harness_.push(packet_for(path));
  ASSERT_THAT(harness_.outputs(), SizeIs(2));
  EXPECT_EQ(harness_.outputs()[1].get(field::image).height(), 20);
  std::filesystem::remove(path);
  harness_.push(packet_for(path));
  EXPECT_THAT(harness_.errors(), SizeIs(1));
}

TEST_F(DecodeTest, ReadsThePieceOfAFile) {
  const test::Bytes png = test::encode(test::smooth_picture(6, 9), ".png");
  test::Bytes archive(100, std::uint8_t{7});
  archive.insert(archive.end(), png.begin(), png.end());
  archive.insert(archive.end(), 50, std::uint8_t{7});
  const auto file = std::make_shared<const OpenFile>(
      ::open(write("t.tar", archive).c_str(), O_RDONLY | O_CLOEXEC), "t.tar");
  const auto piece = [&](const std::string& name, std::uint64_t size) {
    Packet packet = packet_for("t.tar/" + name);
    packet.set(field::piece, FilePiece{file, 100, size});
    return packet;
  };
  harness_.set("cache", 1);
  harness_.push(piece("a.png", png.size())).push(piece("cut.png", png.size() / 2));
  harness_.push(piece("a.png", png.size()));
  ASSERT_THAT(harness_.outputs(), SizeIs(2));
  EXPECT_EQ(harness_.outputs()[0].get(field::image), decode_image(png, "png"));
  EXPECT_EQ(harness_.outputs()[1].get(field::image), decode_image(png, "png"));
  EXPECT_THAT(only_error(harness_).full_message(), HasSubstr("t.tar/cut.png"));
  std::ofstream(folder_.path() / "t.tar", std::ios::app) << "more";
  harness_.push(piece("a.png", png.size()));  // from the cache
  EXPECT_THAT(harness_.outputs(), SizeIs(3));
  harness_.push(piece("b.png", png.size()));
  ASSERT_THAT(harness_.errors(), SizeIs(2));
  EXPECT_THAT(harness_.errors()[1].full_message(), HasSubstr("'t.tar' has changed"));
}

TEST_F(DecodeTest, SaysOnceThatItsCacheIsFull) {
  harness_.set("cache", 1);
  for (int i = 0; i < 4; ++i) {  // 750 KiB each
    harness_.push(packet_for(
        write(std::to_string(i) + ".jpg", test::encode(test::smooth_picture(500, 512), ".jpg"))));
  }
  EXPECT_THAT(harness_.outputs(), SizeIs(4));
  ASSERT_THAT(harness_.log(), SizeIs(1));
  EXPECT_THAT(harness_.log()[0].text,
              AllOf(HasSubstr("1 MiB is full with 1 image"), HasSubstr("raise 'cache'")));
}

}  // namespace seam::stages::decode_test
