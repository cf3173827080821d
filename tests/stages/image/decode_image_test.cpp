#include "stages/image/decode_image.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "tests/stages/dataset/layout.hpp"
#include "tests/stages/image/encoded.hpp"
#include "tests/stages/image/pictures.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::decode_image_test {

using test::Bytes;
using test::encode;
using test::smooth_picture;

/// The error message, or empty.
std::string error_of(const Bytes& bytes, const std::string& name = "shirt.jpg",
                     std::uint64_t max_pixels = 64'000'000) {
  return test::message_of([&] { static_cast<void>(decode_image(bytes, name, max_pixels)); });
}

void expect_near(const Image& a, const Image& b, int tolerance) {
  ASSERT_EQ(a.height(), b.height());
  ASSERT_EQ(a.width(), b.width());
  ASSERT_EQ(a.channels(), b.channels());
  int worst = 0;
  for (std::size_t i = 0; i < a.bytes(); ++i) {
    worst = std::max(worst, std::abs(int{a.data()[i]} - int{b.data()[i]}));
  }
  EXPECT_LE(worst, tolerance);
}

/// The corners of a picture by their hue, row by row, as in "RGBW".
std::string corners(const Image& image) {
  std::string text;
  for (const int y : {0, image.height() - 1}) {
    for (const int x : {0, image.width() - 1}) {
      const std::uint8_t* p = image.row(y) + 3 * x;
      const bool r = p[0] > 127;
      const bool g = p[1] > 127;
      const bool b = p[2] > 127;
      text += r && g && b ? 'W' : r ? 'R' : g ? 'G' : b ? 'B' : '.';
    }
  }
  return text;
}

/// Four quarters: red, green / blue, white; 32 wide and 16 high.
Image quarters() {
  Image image(16, 32, 3);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 32; ++x) {
      std::uint8_t* p = image.row(y) + 3 * x;
      const int quarter = (y >= 8 ? 2 : 0) + (x >= 16 ? 1 : 0);
      p[0] = quarter == 0 || quarter == 3 ? 255 : 0;
      p[1] = quarter == 1 || quarter == 3 ? 255 : 0;
      p[2] = quarter >= 2 ? 255 : 0;
    }
  }
  return image;
}

/// Inserts an Exif segment with one entry, the orientation, after a JPEG's first two bytes.
Bytes with_orientation(const Bytes& jpeg, std::uint8_t orientation) {
  const Bytes segment{0xFF, 0xE1, 0, 34, 'E', 'x',         'i', 'f', 0,    0,    'M', 'M',
                      0,    42,   0, 0,  0,   8,           0,   1,   0x01, 0x12, 0,   3,
                      0,    0,    0, 1,  0,   orientation, 0,   0,   0,    0,    0,   0};
  Bytes result(jpeg.begin(), jpeg.begin() + 2);
  result.insert(result.end(), segment.begin(), segment.end());
  result.insert(result.end(), jpeg.begin() + 2, jpeg.end());
  return result;
}

struct Kind {
  std::string extension;
  int tolerance;  // of a decoded pixel against the drawn one
  std::vector<int> parameters = {};
  std::size_t forgivable = 0;  // missing bytes at the end that leave a whole picture
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.extension;
}

class EveryFormat : public ::testing::TestWithParam<Kind> {
 protected:
  [[nodiscard]] static Bytes encoded(const Image& image) {
    return encode(image, GetParam().extension, GetParam().parameters);
  }
};

TEST_P(EveryFormat, ReadsWhatWasDrawnWhateverItsName) {
  for (const Image& drawn : {smooth_picture(37, 53), smooth_picture(1, 1)}) {
    const Image read = decode_image(encoded(drawn), "drawn");
    expect_near(read, drawn, GetParam().tolerance);
    EXPECT_EQ(decode_image(encoded(drawn), "a.txt"), read);
    EXPECT_EQ(decode_image(encoded(drawn), "a.jpg"), read);
  }
}

TEST_P(EveryFormat, RefusesEveryCutFile) {
  const Bytes whole = encoded(smooth_picture(37, 53));
  const std::size_t size = whole.size();
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < size; i += std::max<std::size_t>(1, size / 97)) lengths.push_back(i);
  // The last bytes one by one: lenient decoders do not notice that these are missing.
  for (std::size_t i = GetParam().forgivable + 1; i <= 12; ++i) lengths.push_back(size - i);
  for (const std::size_t length : lengths) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THAT(error_of(cut, "cut.bin"), HasSubstr("cut.bin")) << length << " of " << size;
  }
}

TEST_P(EveryFormat, SurvivesEveryFlippedByte) {
  const Bytes whole = encoded(smooth_picture(21, 33));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      Bytes bad = whole;
      bad[at] = static_cast<std::uint8_t>(bad[at] ^ flip);
      try {
        const Image image = decode_image(bad, "bad.bin", 1'000'000);
        EXPECT_EQ(image.channels(), 3);
        EXPECT_GT(image.bytes(), 0U);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("bad.bin"));
      }
    }
  }
}

TEST_P(EveryFormat, RefusesMorePixelsThanAllowed) {
  const Bytes whole = encoded(smooth_picture(37, 53));
  EXPECT_EQ(error_of(whole, "a", 37 * 53), "");
  EXPECT_THAT(error_of(whole, "a", 37 * 53 - 1), AllOf(HasSubstr("'a' is 53 x 37 pixels"),
                                                       HasSubstr("1960"), HasSubstr("max_pixels")));
}

INSTANTIATE_TEST_SUITE_P(
    Formats, EveryFormat,
    ::testing::Values(
        Kind{".jpg", 12, {cv::IMWRITE_JPEG_QUALITY, 98}},
        Kind{".jpg", 12, {cv::IMWRITE_JPEG_QUALITY, 98, cv::IMWRITE_JPEG_PROGRESSIVE, 1}},
        Kind{".jpg", 12, {cv::IMWRITE_JPEG_QUALITY, 98, cv::IMWRITE_JPEG_RST_INTERVAL, 2}},
        Kind{".png", 0}, Kind{".webp", 0, {cv::IMWRITE_WEBP_QUALITY, 101}}, Kind{".ppm", 0},
        // "127" cut to "12" is still a number.
        Kind{".ppm", 0, {cv::IMWRITE_PXM_BINARY, 0}, 5}),
    [](const auto& instance) {
      std::string name = instance.param.extension.substr(1);
      for (const int value : instance.param.parameters) name += "_" + std::to_string(value);
      return name;
    });

TEST(DecodeImage, SaysWhatAStrangerIsAndWhatIsRead) {
  const std::string text = "this is a text, not a picture";
  EXPECT_THAT(
      error_of(Bytes(text.begin(), text.end()), "a.jpg"),
      AllOf(HasSubstr("'a.jpg'"), HasSubstr("not an image in a format"), HasSubstr("JPEG, PNG")));
  const std::string heif(
      "\0\0\0\x18"
      "ftypheic\0\0\0\0",
      16);
  EXPECT_THAT(error_of(Bytes(heif.begin(), heif.end())), HasSubstr("HEIF"));
  EXPECT_THAT(error_of({}, "img/a.jpg"), AllOf(HasSubstr("'img/a.jpg'"), HasSubstr("empty")));
}

TEST(DecodeImage, NamesAFormatThatItDoesNotReadAndHowToConvertIt) {
  const Image picture = smooth_picture(64, 64);
  const std::string gif("GIF89a");
  const std::string jxl("\xFF\x0A\x7F");
  const std::vector<std::pair<std::string, Bytes>> files{
      {"a BMP image", encode(picture, ".bmp")},
      {"a GIF image", Bytes(gif.begin(), gif.end())},
      {"a JPEG 2000 image", encode(picture, ".jp2")},
      {"a JPEG XL image", Bytes(jxl.begin(), jxl.end())},
      {"a Sun raster image", encode(picture, ".ras")},
      {"a TIFF image", encode(picture, ".tiff")}};
  for (const auto& [format, bytes] : files) {
    EXPECT_EQ(error_of(bytes, "hats/a b.x"),
              "'hats/a b.x' is " + format +
                  "; Seam reads JPEG, PNG, WebP, PBM, PGM, PPM and PAM: convert it, for example "
                  "with ImageMagick (magick 'a b.x' 'a b.png'), or remove it from the list");
  }
}

TEST(DecodeImage, RefusesAHugePngByItsHeaderAlone) {
  // A header chunk for 30000 x 30000 and nothing else: reaching for the pixels would say
  // "truncated".
  const Bytes bomb{0x89, 'P',  'N', 'G', '\r', '\n', 0x1A, '\n', 0,    0, 0,
                   13,   'I',  'H', 'D', 'R',  0,    0,    0x75, 0x30, 0, 0,
                   0x75, 0x30, 1,   0,   0,    0,    0,    0,    0,    0, 0};
  EXPECT_THAT(error_of(bomb, "bomb.png"),
              AllOf(HasSubstr("30000 x 30000"), HasSubstr("'bomb.png'"), HasSubstr("max_pixels")));
}

TEST(DecodeImage, AppliesEveryOrientationOfTheCameraThatExists) {
  // What tag 0x0112 says about a stored picture of RG/BW.
  const std::map<std::uint8_t, std::string> expected{{1, "RGBW"}, {2, "GRWB"}, {3, "WBGR"},
                                                     {4, "BWRG"}, {5, "RBGW"}, {6, "BRWG"},
                                                     {7, "WGBR"}, {8, "GWRB"}};
  const Bytes jpeg = encode(quarters(), ".jpg");
  for (const auto& [orientation, text] : expected) {
    const Image image = decode_image(with_orientation(jpeg, orientation), "a.jpg");
    EXPECT_EQ(corners(image), text) << "orientation " << int{orientation};
    EXPECT_EQ(image.height(), orientation >= 5 ? 32 : 16);
    EXPECT_EQ(image.width(), orientation >= 5 ? 16 : 32);
  }
  EXPECT_EQ(corners(decode_image(with_orientation(jpeg, 9), "a.jpg")), "RGBW");
  EXPECT_EQ(corners(decode_image(with_orientation(jpeg, 0), "a.jpg")), "RGBW");
}

TEST(DecodeImage, KeepsTheHandleOfAnUprightImage) {
  const Image image = quarters();
  EXPECT_EQ(upright(image, 1).data(), image.data());
  EXPECT_NE(upright(image, 3).data(), image.data());
}

TEST(DecodeImage, ReadsGreyAsThreeEqualChannels) {
  cv::Mat grey(3, 5, CV_8UC1);
  for (int i = 0; i < 15; ++i) grey.data[i] = static_cast<std::uint8_t>(i * 17);
  for (const char* extension : {".png", ".pgm"}) {
    const Image image = decode_image(encode(grey, extension), extension);
    ASSERT_EQ(image.channels(), 3);
    for (int i = 0; i < 15; ++i) {
      for (int c = 0; c < 3; ++c) EXPECT_EQ(image.data()[3 * i + c], i * 17) << extension;
    }
  }
}

TEST(DecodeImage, RoundsSixteenBitsToEight) {
  cv::Mat deep(1, 4, CV_16UC1);
  const std::vector<std::uint16_t> values{0, 257, 32896, 65535};
  std::ranges::copy(values, deep.ptr<std::uint16_t>());
  for (const char* extension : {".png", ".pgm"}) {
    const Image image = decode_image(encode(deep, extension), extension);
    EXPECT_EQ(image.data()[0], 0) << extension;
    EXPECT_EQ(image.data()[3], 1) << extension;
    EXPECT_EQ(image.data()[6], 128) << extension;
    EXPECT_EQ(image.data()[9], 255) << extension;
  }
}

TEST(DecodeImage, DropsAlphaWithoutBlending) {
  const cv::Mat half_clear(2, 2, CV_8UC4, cv::Scalar(10, 20, 30, 128));  // blue, green, red, alpha
  const Image image = decode_image(encode(half_clear, ".png"), "a.png");
  EXPECT_THAT(std::vector<int>(image.data(), image.data() + 3), ::testing::ElementsAre(30, 20, 10));
}

TEST(DecodeImage, RefusesDamageThatLooksWhole) {
  Bytes jpeg = encode(smooth_picture(64, 64), ".jpg");
  jpeg.resize(jpeg.size() / 2);
  jpeg.push_back(0xFF);
  jpeg.push_back(0xD9);  // an end marker, so that the file looks whole
  EXPECT_THAT(error_of(jpeg), HasSubstr("damaged JPEG"));
  Bytes png = encode(smooth_picture(64, 64), ".png");
  png[png.size() / 2] ^= 4;
  EXPECT_THAT(error_of(png), HasSubstr("damaged PNG"));
}

TEST(DecodeImage, ReadsAJpegWithSomethingBehindIt) {
  Bytes jpeg = encode(smooth_picture(64, 64), ".jpg");
  const Image image = decode_image(jpeg, "a.jpg");
  jpeg.insert(jpeg.end(), 1000, 0x55);
  EXPECT_EQ(decode_image(jpeg, "a.jpg"), image);
}

TEST(DecodeImage, ReadsBitmapsOfOneBit) {
  const std::string plain = "P1\n# a comment\n3 2\n101\n0 1 0\n";
  const Image image = decode_image(Bytes(plain.begin(), plain.end()), "a.pbm");
  ASSERT_EQ(image.width(), 3);
  ASSERT_EQ(image.height(), 2);
  const std::vector<int> expected{0, 255, 0, 255, 0, 255};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(image.data()[3 * i], expected[i]);
  const Bytes packed{'P', '4', '\n', '3', ' ', '2', '\n', 0b10100000, 0b01000000};
  EXPECT_EQ(decode_image(packed, "b.pbm"), image);
}

TEST(DecodeImage, ReadsAPortableAnyMap) {
  const std::string head =
      "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n";
  Bytes file(head.begin(), head.end());
  const Bytes pixels{1, 2, 3, 99, 4, 5, 6, 99};
  file.insert(file.end(), pixels.begin(), pixels.end());
  const Image image = decode_image(file, "a.pam");
  EXPECT_THAT(std::vector<int>(image.data(), image.data() + 6),
              ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  file.pop_back();
  EXPECT_THAT(error_of(file), HasSubstr("truncated"));
}

TEST(DecodeImage, IsNotFooledByAClaimedSize) {
  // The header declares many pixels, but the file has none.
  const std::string map = "P6 7000 7000 255\n";
  EXPECT_THAT(error_of(Bytes(map.begin(), map.end())), HasSubstr("truncated"));
}

// ---------------------------------------------------------------------------------------------
// Real odd and broken files, with what Pillow 9.4 does with each.

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

TEST(DecodeImageCorpus, AgreesWithPillowExceptWhereListed) {
  const std::filesystem::path folder = test_data("bad-images-mini");
  if (folder.empty()) GTEST_SKIP() << "no bad-images-mini in SEAM_TEST_DATA";
  const std::map<std::string, std::string> refused_on_purpose{
      {"image-rs-jpeg-decoder/crashtest/images/dc-predictor-overflow.jpg", "its scan ends early"},
      {"image-rs-jpeg-decoder/reftest/images/partial_progressive.jpg", "its scans end early"},
      {"pngsuite/png/xcsn0g01.png", "the checksum of its pixels is wrong"},
  };
  const std::map<std::string, std::string> read_on_purpose{
      {"metadata-extractor-png/ImageTestSuite/0b7d50ac449fd59eb3de00647636d0c9.png",
       "only its metadata is bad"},
      {"metadata-extractor-png/ImageTestSuite/e76546768d4a8f2f4c39339345c7614c.png",
       "only its metadata is bad"},
      {"metadata-extractor-png/ImageTestSuite/m1-66ac49ef3f48ac9482049e1ab57a53e9.png",
       "only its metadata is bad"},
      {"metadata-extractor-png/ImageTestSuite/m3-66ac49ef3f48ac9482049e1ab57a53e9.png",
       "only its metadata is bad"},
      {"pillow/apng/chunk_no_fctl.png", "the still picture is whole, the animation is not"},
      {"pillow/png_decompression_dos.png", "one pixel, and an endless text that is skipped unread"},
      {"pillow/truncated_exif_dpi.jpg", "only its metadata is bad"},
      {"pillow/unknown_compression_method.png", "only its metadata is bad"},
  };
  const std::set<std::string> formats_not_read{"BMP", "GIF", "ICO", "TIFF"};
  std::ifstream manifest(folder / "MANIFEST.csv");
  std::string line;
  std::getline(manifest, line);  // the names of the columns
  int rows = 0;
  for (; std::getline(manifest, line); ++rows) {
    const std::vector<std::string> cells = split(line);
    const std::string& path = cells.at(0);
    const bool pillow_reads_it = cells.at(7) == "ok";
    ASSERT_TRUE(std::filesystem::exists(folder / path)) << path;
    const std::string bytes = test::text_of_file(folder / path);
    std::string problem;
    Image image;
    try {
      image = decode_image(Bytes(bytes.begin(), bytes.end()), path);
    } catch (const Error& error) {
      problem = error.what();
      EXPECT_THAT(problem, HasSubstr(path));
    }
    const bool unread = formats_not_read.contains(cells.at(2));
    if (unread) {
      EXPECT_THAT(problem, HasSubstr("Seam reads JPEG, PNG")) << path;
    }
    const bool expect_image = !unread && (pillow_reads_it ? !refused_on_purpose.contains(path)
                                                          : read_on_purpose.contains(path));
    EXPECT_EQ(problem.empty(), expect_image)
        << path << ": " << (problem.empty() ? "was read" : problem);
    if (problem.empty() && pillow_reads_it) {
      const bool turned = cells.at(6) >= "5";  // the orientation
      EXPECT_EQ(std::to_string(image.width()), cells.at(turned ? 5 : 4)) << path;
      EXPECT_EQ(std::to_string(image.height()), cells.at(turned ? 4 : 5)) << path;
    }
  }
  EXPECT_EQ(rows, 521);
}

}  // namespace seam::stages::decode_image_test
