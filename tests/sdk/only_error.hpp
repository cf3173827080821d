/// The error of a harness that has exactly one.
#pragma once

#include <gtest/gtest.h>

#include "seam/testing.hpp"

namespace seam::test {

inline Error only_error(const testing::Harness& harness) {
  EXPECT_EQ(harness.errors().size(), 1U);
  return harness.errors().at(0);
}

}  // namespace seam::test
