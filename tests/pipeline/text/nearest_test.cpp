#include "pipeline/text/nearest.hpp"

#include "tests/support/matchers.hpp"

namespace seam::host::nearest_test {

TEST(EditDistance, CountsEditsAndSwappedNeighboursButNotLetterCase) {
  struct Case {
    const char* a;
    const char* b;
    std::size_t distance;
  };
  // No position is edited twice: "ca" to "abc" would be 2 otherwise.
  for (const auto& [a, b, distance] : {Case{"", "", 0},
                                       {"abc", "", 3},
                                       {"", "abc", 3},
                                       {"classes", "classes", 0},
                                       {"clases", "classes", 1},
                                       {"classes", "clases", 1},
                                       {"margin", "morgen", 2},
                                       {"sclae", "scale", 1},
                                       {"ab", "ba", 1},
                                       {"ca", "abc", 3},
                                       {"Linear", "linear", 0}}) {
    EXPECT_EQ(edit_distance(a, b), distance) << a << " and " << b;
  }
}

TEST(NearestNames, NearestFirstAndEquallyNearOnesInAlphabeticalOrder) {
  EXPECT_THAT(nearest_names("clases", {"margin", "classes", "clauses"}),
              ElementsAre("classes", "clauses"));
  EXPECT_THAT(nearest_names("bat", {"hat", "cat"}), ElementsAre("cat", "hat"));
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
