#include "stages/dataset/category_numbers.hpp"

#include "tests/support/matchers.hpp"

namespace seam::stages::category_numbers_test {

TEST(NumberCategories, KeepsNumbers) {
  const NumberedCategories numbered = number_categories({"3", "0", "3"}, {"0", "3", "7"});
  EXPECT_THAT(numbered.rows, ElementsAre(3, 0, 3));
  EXPECT_THAT(numbered.names, IsEmpty());
}

TEST(NumberCategories, NumbersTheNamesOfTheWholeList) {
  const NumberedCategories numbered =
      number_categories({"hats", "10", "9"}, {"10", "9", "boots", "hats"});
  EXPECT_THAT(numbered.rows, ElementsAre(3, 0, 1));
  EXPECT_THAT(numbered.names, ElementsAre("10", "9", "boots", "hats"));
  EXPECT_THAT(number_categories({"3"}, {"-1", "3"}).rows, ElementsAre(1));
  EXPECT_THAT(number_categories({}, {}).rows, IsEmpty());
}

}  // namespace seam::stages::category_numbers_test
