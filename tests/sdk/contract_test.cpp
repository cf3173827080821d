#include <seam/contract.hpp>
#include <seam/error.hpp>
#include <seam/field.hpp>
#include <seam/image.hpp>
#include <string>

#include "tests/support/matchers.hpp"

namespace seam::contract_test {

using ::testing::Optional;

std::optional<std::string> difference(std::string_view provided, std::string_view needed) {
  return TensorContract::first_difference(TensorContract::parse(provided),
                                          TensorContract::parse(needed));
}

TEST(TensorContract, ReadsElementDimensionsAndOpenEnd) {
  const TensorContract images = TensorContract::parse("f32[N, 3,H,W]");
  EXPECT_EQ(images.element(), "f32");
  EXPECT_THAT(images.dimensions(), ElementsAre("N", "3", "H", "W"));
  EXPECT_FALSE(images.open_ended());
  EXPECT_TRUE(TensorContract::parse("*[N,...]").open_ended());
  EXPECT_TRUE(TensorContract::parse("i64[]").dimensions().empty());
}

TEST(TensorContract, RefusesWhatIsNoContractQuotingIt) {
  for (const char* text :
       {"", "f32", "f31[N]", "f32[N", "f32[N,,C]", "f32[...,N]", "f32[20-]", "f32[-1]", "f32[2N]",
        "f32[+]", "f32[N+]", "f32[9999999999999999999]", "f32[9999999999999999999+]"}) {
    EXPECT_REFUSED(TensorContract::parse(text), Fault::internal, "'" + std::string(text) + "'");
  }
}

TEST(ImageContract, HasHeightWidthAndChannels) {
  const Image image(4, 6, 3);
  EXPECT_EQ(image_violation(image, "u8[4,6,3]"), "");
  EXPECT_EQ(image_violation(image, "u8[H,W,C]"), "");
  EXPECT_THAT(image_violation(image, "u8[6,4,3]"), HasSubstr("dimension 0 is 4, not 6"));
  EXPECT_THAT(image_violation(image, "u8[4,6+,1]"), HasSubstr("dimension 2 is 3, not 1"));
}

TEST(TensorContract, NamesFitAnySizeAndStarsAnyElement) {
  EXPECT_EQ(difference("f32[N,128]", "f32[B,D]"), std::nullopt);
  EXPECT_EQ(difference("f32[N,D]", "f32[N,128]"), std::nullopt);
  EXPECT_EQ(difference("*[N]", "i64[N]"), std::nullopt);
  EXPECT_EQ(difference("f32[N,3,H,W]", "f32[N,...]"), std::nullopt);
  EXPECT_EQ(difference("f32[N,...]", "f32[N,3,H,W]"), std::nullopt) << "it may have four";
}

TEST(TensorContract, NamesTheFirstDifference) {
  EXPECT_THAT(difference("f64[N]", "f32[N]"), Optional(HasSubstr("f64, not f32")));
  EXPECT_THAT(difference("f32[N,1,H,W]", "f32[N,3,H,W]"),
              Optional(HasSubstr("dimension 1 is 1, not 3")));
  EXPECT_THAT(difference("f32[N]", "f32[N,D]"),
              Optional(HasSubstr("1 dimension, not 2 dimensions")));
  EXPECT_THAT(difference("f32[N,C,H,W]", "f32[N,D]"), Optional(HasSubstr("4 dimensions")));
  EXPECT_THAT(difference("f32[N,3,...]", "f32[N]"),
              Optional(HasSubstr("2 or more dimensions, not 1 dimension")));
}

TEST(TensorContract, ALeastSizeFitsItselfAndMore) {
  EXPECT_EQ(difference("f32[N,20]", "f32[N,20+]"), std::nullopt);
  EXPECT_EQ(difference("f32[N,21]", "f32[N,20+]"), std::nullopt);
  EXPECT_EQ(difference("f32[N,E]", "f32[N,20+]"), std::nullopt);
  EXPECT_EQ(difference("f32[N,10+]", "f32[N,20+]"), std::nullopt) << "it may be 20";
  EXPECT_EQ(difference("f32[N,20+]", "f32[N,E]"), std::nullopt);
  EXPECT_EQ(difference("f32[N,20+]", "f32[N,20]"), std::nullopt);
  EXPECT_THAT(difference("f32[N,19]", "f32[N,20+]"),
              Optional(HasSubstr("dimension 1 is 19, but at least 20 is needed")));
  EXPECT_THAT(difference("f32[N,20+]", "f32[N,19]"),
              Optional(HasSubstr("dimension 1 is 20+, not 19")));
  const TensorContract wide = TensorContract::parse("f32[N,20+]");
  EXPECT_EQ(wide.first_violation("f32", {0, 20}), std::nullopt);
  EXPECT_EQ(wide.first_violation("f32", {1, 300}), std::nullopt);
  EXPECT_THAT(wide.first_violation("f32", {1, 19}),
              Optional(HasSubstr("dimension 1 is 19, but at least 20 is needed")));
}

TEST(ListContract, SaysHowLongAListIs) {
  EXPECT_EQ(list_violation(0, "*[N]"), "");
  EXPECT_EQ(list_violation(7, "*[N]"), "");
  EXPECT_EQ(list_violation(3, "i64[3]"), "") << "the element type is checked by the compiler";
  EXPECT_THAT(list_violation(2, "*[3]"), HasSubstr("dimension 0 is 2, not 3"));
  EXPECT_THAT(list_violation(2, "*[3+]"), HasSubstr("at least 3"));
  EXPECT_THAT(list_violation(2, "*[N,3]"), HasSubstr("1 dimension, not 2 dimensions"));
}

TEST(TensorContract, ComparesRealSizes) {
  const TensorContract square = TensorContract::parse("f32[N,S,S]");
  EXPECT_EQ(square.first_violation("f32", {2, 5, 5}), std::nullopt);
  EXPECT_THAT(square.first_violation("f32", {2, 5, 6}), Optional(HasSubstr("6, not 5 as S")));
  EXPECT_THAT(square.first_violation("f64", {2, 5, 5}), Optional(HasSubstr("f64, not f32")));
  EXPECT_THAT(square.first_violation("f32", {2, 5}), Optional(HasSubstr("2 dimensions, not 3")));
  const TensorContract open = TensorContract::parse("*[4,...]");
  EXPECT_EQ(open.first_violation("u8", {4, 1, 1}), std::nullopt);
  EXPECT_THAT(open.first_violation("u8", {3}), Optional(HasSubstr("3, not 4")));
}

}  // namespace seam::contract_test
