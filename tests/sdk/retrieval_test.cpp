#include "seam/retrieval.hpp"

#include <gmock/gmock.h>

#include <seam/declaration.hpp>
#include <seam/error.hpp>
#include <seam/packet.hpp>
#include <seam/refusal_testing.hpp>

namespace retrieval_test {

using seam::retrieval::InputSize;
using seam::retrieval::Ranking;
using seam::retrieval::Rankings;
using ::testing::HasSubstr;

/// Two queries with two neighbours each in a gallery of three images of two items.
Rankings rankings() {
  Rankings rankings;
  rankings.gallery_images = 3;
  rankings.gallery_items = 2;
  rankings.item = {0, -2};
  rankings.relevant = {2, 0};
  Ranking ranking;
  ranking.neighbours = {2, 2, {0, 2, 1, -1}, {0.5F, 1, 0, 7}, {0, 0}, {0, 0}};
  ranking.items = {0, 1, 0, -1};
  rankings.by_mask = {ranking};
  return rankings;
}

std::string violation(const Rankings& value, const std::string& contract = "*[N,K]") {
  return seam::FieldTraits<Rankings>::violation(value, contract);
}

TEST(Rankings, KeepTheirContractByCountAndDepth) {
  EXPECT_EQ(violation(rankings()), "");
  EXPECT_EQ(violation(rankings(), "*[N,2]"), "");
  EXPECT_EQ(violation(rankings(), "*[2,2+]"), "");
  EXPECT_THAT(violation(rankings(), "*[N,3+]"), HasSubstr("2, but at least 3 is needed"));
}

TEST(Rankings, OfLengthsThatDoNotFitSayWhatIsWrong) {
  Rankings value = rankings();
  value.by_mask[0].neighbours.distances.pop_back();
  EXPECT_EQ(violation(value), "it has 3 distances under mask none where 4 are needed");
  value = rankings();
  value.by_mask.push_back(value.by_mask[0]);
  EXPECT_EQ(violation(value), "it has mask none twice");
  value = rankings();
  value.item[1] = -1;
  EXPECT_THAT(violation(value), HasSubstr("a query of item -1"));
  value = rankings();
  value.by_mask[0].neighbours.rows[0] = 3;
  EXPECT_THAT(violation(value), HasSubstr("row 3 of a gallery of 3"));
  value = rankings();
  value.by_mask[0].neighbours.distances[0] = 2;
  EXPECT_THAT(violation(value), HasSubstr("ascending order"));
  value = rankings();
  value.by_mask.clear();
  EXPECT_THAT(violation(value), HasSubstr("no result for any mask"));
}

TEST(Rankings, AreCountedAmongTheRowsOfABatch) {
  seam::Packet packet;
  packet.set(seam::field::rankings, rankings());
  packet.set(seam::field::categories, std::vector<std::int64_t>{1, 2, 3});
  EXPECT_EQ(packet.row_mismatch(), "'rankings' has 2 rows and 'categories' has 3 rows");
}

TEST(Rankings, AreASharedField) {
  EXPECT_EQ(seam::shared_field_type("rankings"), seam::type_name<Rankings>());
  seam::Declaration declaration;
  EXPECT_REFUSED(declaration.provides(seam::Field<int>{"rankings"}), seam::Fault::internal,
                 "field 'rankings' is shared by all plugins");
}

TEST(InputSize, OfTwoSetsIsOneOrMixed) {
  const InputSize size{256, 128};
  EXPECT_EQ(to_string(together(size, size)), "256x128");
  EXPECT_EQ(to_string(together(size, {64, 64})), "mixed");
  EXPECT_EQ(to_string(InputSize{}), "unknown");
}

}  // namespace retrieval_test
