#include "pipeline/run/trace_context.hpp"

#include <gtest/gtest.h>

#include <string>

namespace seam::host::trace_context_test {

const std::string example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::string with(std::size_t at, char character) {
  std::string text = example;
  text[at] = character;
  return text;
}

TEST(Traceparent, IsTheFormOfTheSpecification) {
  EXPECT_TRUE(is_traceparent(example));
  EXPECT_FALSE(is_traceparent(""));
  EXPECT_FALSE(is_traceparent(example.substr(1)));
  EXPECT_FALSE(is_traceparent(example + " "));
  for (std::size_t at = 0; at < example.size(); ++at) {
    EXPECT_FALSE(is_traceparent(with(at, 'A'))) << at;  // digits are in lower case
    EXPECT_EQ(is_traceparent(with(at, '-')), example[at] == '-') << at;
  }
}

TEST(Traceparent, ZeroIdsAreInvalid) {
  EXPECT_FALSE(is_traceparent("00-" + std::string(32, '0') + "-00f067aa0ba902b7-01"));
  EXPECT_FALSE(
      is_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-" + std::string(16, '0') + "-01"));
}

TEST(Traceparent, LaterVersionsMayAddFields) {
  EXPECT_TRUE(is_traceparent("cc" + example.substr(2)));
  EXPECT_TRUE(is_traceparent("cc" + example.substr(2) + "-what"));
  EXPECT_FALSE(is_traceparent("cc" + example.substr(2) + ".what"));
  EXPECT_FALSE(is_traceparent(example + "-what"));
  EXPECT_FALSE(is_traceparent("ff" + example.substr(2)));
}

}  // namespace seam::host::trace_context_test
