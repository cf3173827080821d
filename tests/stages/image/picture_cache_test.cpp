#include "stages/image/decode.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::picture_cache_test {

using namespace std::chrono_literals;

Image filled(int side, std::uint8_t value) {
  return test::filled(side, side, value);
}

TEST(PictureCache, FindsWhatItKept) {
  PictureCache cache(1000);
  const FileStamp stamp{17, {}};
  EXPECT_FALSE(cache.find("a", stamp));
  EXPECT_FALSE(cache.keep("a", stamp, filled(4, 1)));
  EXPECT_EQ(cache.find("a", stamp), filled(4, 1));
  EXPECT_FALSE(cache.find("b", stamp));
  EXPECT_FALSE(cache.find("a", {18, {}}));
  EXPECT_FALSE(cache.find("a", {17, stamp.written + 1s}));
  EXPECT_FALSE(stamp_of("/nowhere/at all.jpg"));
}

TEST(PictureCache, HandsOutPixelsOfTheirOwn) {
  PictureCache cache(1000);
  Image mine = filled(4, 1);
  cache.keep("a", {}, mine);
  mine.data()[0] = 99;
  Image theirs = *cache.find("a", {});
  EXPECT_EQ(theirs, filled(4, 1));
  theirs.data()[0] = 98;
  EXPECT_EQ(cache.find("a", {}), filled(4, 1));
}

TEST(PictureCache, KeepsNoMoreThanItHasRoomForAndSaysSoOnce) {
  PictureCache cache(100);  // pictures of 48 bytes
  EXPECT_FALSE(cache.keep("a", {}, filled(4, 1)));
  EXPECT_FALSE(cache.keep("b", {}, filled(4, 2)));
  EXPECT_TRUE(cache.keep("c", {}, filled(4, 3)));
  EXPECT_FALSE(cache.keep("d", {}, filled(4, 4)));
  EXPECT_EQ(cache.pictures(), 2U);
  EXPECT_TRUE(cache.find("b", {}));
  EXPECT_FALSE(cache.find("c", {}));
  EXPECT_FALSE(cache.keep("e", {}, filled(1, 5))) << "a smaller one still fits";
  EXPECT_TRUE(cache.find("e", {}));
}

TEST(PictureCache, AFileThatChangedGivesItsRoomBack) {
  PictureCache cache(100);
  for (std::uint64_t size = 0; size < 10; ++size) {
    EXPECT_FALSE(cache.keep("a", {size, {}}, filled(5, 1)));
  }
  EXPECT_EQ(cache.pictures(), 1U);
}

TEST(PictureCache, IsSharedByThreads) {
  PictureCache cache(1'000'000);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache] {
      for (int i = 0; i < 200; ++i) {
        const auto value = static_cast<std::uint8_t>(i % 20);
        const std::string name = std::to_string(value);
        if (const std::optional<Image> kept = cache.find(name, {})) {
          EXPECT_EQ(*kept, filled(8, value));
        } else {
          cache.keep(name, {}, filled(8, value));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.pictures(), 20U);
}

}  // namespace seam::stages::picture_cache_test
