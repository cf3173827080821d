/// The matchers that most tests use, by their short names, and EXPECT_REFUSED.
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

}  // namespace seam
