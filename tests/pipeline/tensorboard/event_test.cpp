#include "pipeline/tensorboard/event.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>

namespace seam::host::tensorboard::event_test {

using namespace std::string_literals;

/// 1.5 as a little-endian double.
const std::string one_and_a_half = "\0\0\0\0\0\0\xF8\x3F"s;

// Field by field, as protobuf writes them: number << 3 | type, then the value.

TEST(Event, OfTheVersionHasTheGoldenBytes) {
  EXPECT_EQ(version_event(1.5), "\x09" + one_and_a_half + "\x1A\x0D" + "brain.Event:2");
}

TEST(Event, OfScalarsHasTheGoldenBytes) {
  const std::string loss = "\x0A\x04loss\x15\0\0\x20\x40"s;  // tag, 2.5F
  const std::string bad =
      "\x0A\x03"
      "bad\x15\0\0\x80\x7F"s;  // tag, infinity
  const std::string summary = "\x0A\x0B" + loss + "\x0A\x0A" + bad;
  EXPECT_EQ(scalars_event({1.5, 300}, {{"loss", 2.5}, {"bad", HUGE_VAL}}),
            "\x09" + one_and_a_half + "\x10\xAC\x02" + "\x2A\x19" + summary);
}

TEST(Event, OfTheSessionHasTheGoldenBytes) {
  EXPECT_EQ(start_event({1.5, 2}), "\x09" + one_and_a_half + "\x10\x02" + "\x3A\x02\x08\x01");
  EXPECT_EQ(checkpoint_event({1.5, 2}, "epoch-1"),
            "\x09" + one_and_a_half + "\x10\x02" + "\x3A\x0B\x08\x03\x12\x07" + "epoch-1");
}

TEST(Event, OfAPictureHasTheGoldenBytes) {
  const std::string file = "JPEG";
  const std::string image = "\x08\x03\x10\x02\x18\x01\x22\x04JPEG";
  const std::string value = "\x0A\x01t\x22\x0C" + image;
  EXPECT_EQ(picture_event({1.5, 2}, "t", {2, 3, 1}, std::as_bytes(std::span(file))),
            "\x09" + one_and_a_half + "\x10\x02" + "\x2A\x13\x0A\x11" + value);
}

TEST(Event, OfAHistogramHasTheGoldenBytes) {
  Histogram histogram;
  histogram.least = histogram.greatest = histogram.sum = 1.5;
  histogram.count = 1.5;
  histogram.sum_of_squares = 1.5;
  histogram.limits = {1.5};
  histogram.buckets = {1.5};
  std::string histo;
  for (const char field : {'\x09', '\x11', '\x19', '\x21', '\x29'}) {
    histo += field + one_and_a_half;
  }
  histo += "\x32\x08" + one_and_a_half + "\x3A\x08" + one_and_a_half;
  EXPECT_EQ(histogram_event({1.5, 0}, "w", histogram),
            "\x09" + one_and_a_half + "\x2A\x48\x0A\x46\x0A\x01w\x2A\x41" + histo);
}

TEST(Event, ComesBackAsFarAsAResumedRunNeedsIt) {
  const auto start = read_event(start_event({1, 7}));
  ASSERT_TRUE(start);
  EXPECT_EQ(start->kind, EventKind::start);
  EXPECT_EQ(start->step, 7);
  const auto checkpoint = read_event(checkpoint_event({1, 8}, "epoch-2.safetensors"));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->kind, EventKind::checkpoint);
  EXPECT_EQ(checkpoint->step, 8);
  EXPECT_EQ(checkpoint->checkpoint, "epoch-2.safetensors");
  const auto summary = read_event(scalars_event({1, 9}, {{"a", 1}}));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->kind, EventKind::summary);
  EXPECT_EQ(summary->step, 9);
  EXPECT_EQ(read_event(version_event(1))->kind, EventKind::other);
  EXPECT_FALSE(read_event("no event").has_value());
}

}  // namespace seam::host::tensorboard::event_test
