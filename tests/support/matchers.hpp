/// The matchers that most tests use, by their short names, EXPECT_REFUSED, and a harness's error.
#pragma once

#include <gmock/gmock.h>

#include <seam/refusal_testing.hpp>

namespace seam {  // every test's namespace is inside it

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

/// The error of a testing::Harness that has exactly one.
template <class Harness>
Error only_error(const Harness& harness) {
  EXPECT_EQ(harness.errors().size(), 1U);
  return harness.errors().at(0);
}

}  // namespace seam
