#include "pipeline/text/nearest.hpp"

#include <gmock/gmock.h>

namespace seam::host::nearest_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("classes", "classes"), 0U);
  EXPECT_EQ(edit_distance("clases", "classes"), 1U);
  EXPECT_EQ(edit_distance("classes", "clases"), 1U);
  EXPECT_EQ(edit_distance("margin", "morgen"), 2U);
}

TEST(EditDistance, SwappedNeighboursAreOneMistake) {
  EXPECT_EQ(edit_distance("sclae", "scale"), 1U);
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);
  // No position is edited twice: "ca" to "abc" would be 2 otherwise.
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);
}

TEST(EditDistance, LetterCaseIsNoMistake) {
  EXPECT_EQ(edit_distance("Linear", "linear"), 0U);
}

TEST(NearestNames, NearestFirst) {
  EXPECT_THAT(nearest_names("clases", {"margin", "classes", "clauses"}),
              ElementsAre("classes", "clauses"));
}

TEST(NearestNames, EquallyNearOnesInAlphabeticalOrder) {
  EXPECT_THAT(nearest_names("bat", {"hat", "cat"}), ElementsAre("cat", "hat"));
}

TEST(NearestNames, NothingForUnlikeNames) {
  EXPECT_THAT(nearest_names("colour", {"margin", "classes"}), IsEmpty());
  EXPECT_THAT(nearest_names("", {"a"}), IsEmpty());
}

TEST(NearestNames, WordWithoutItsFamily) {
  EXPECT_THAT(nearest_names("decode", {"image.decode", "image.resize"}),
              ElementsAre("image.decode"));
}

TEST(NearestNames, HugeNamesCostNothing) {
  EXPECT_THAT(nearest_names(std::string(1 << 20, 'a'), {"a"}), IsEmpty());
}

TEST(DidYouMean, IsASentence) {
  EXPECT_EQ(did_you_mean("clases", {"classes"}), "did you mean 'classes'?");
  EXPECT_EQ(did_you_mean("bat", {"hat", "cat", "rat"}), "did you mean 'cat', 'hat' or 'rat'?");
  EXPECT_EQ(did_you_mean("colour", {"classes"}), "");
}

TEST(Enumerated, CutsLongLists) {
  EXPECT_EQ(enumerated({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(enumerated({"a", "b", "c"}, 2), "a, b and 1 more");
}

TEST(CircleText, ReturnsToItsBeginning) {
  EXPECT_EQ(circle_text({"a"}), "a -> a");
  EXPECT_EQ(circle_text({"a", "b"}), "a -> b -> a");
}

}  // namespace seam::host::nearest_test
