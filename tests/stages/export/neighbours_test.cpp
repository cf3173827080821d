#include "stages/export/neighbours.hpp"

#include <algorithm>
#include <seam/conformance.hpp>
#include <sstream>

#include "tests/stages/retrieval/batches.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::export_neighbours_test {

namespace fs = std::filesystem;
using retrieval_test::batch;
using retrieval_test::found_by;
using retrieval_test::refer_to;
using retrieval_test::Texts;
using seam::testing::Harness;

std::shared_ptr<Harness> gathered(const Texts& items = {"shirt", "skirt", "dress"}) {
  auto gallery = std::make_shared<Harness>("gallery", std::make_unique<Index>());
  gallery->set("metric", "cosine");
  gallery->push(batch(10, items, torch::tensor({{1.F, 0.F}, {0.F, 2.F}, {-3.F, 0.F}}))).finish();
  return gallery;
}

/// The result of a search with two queries.
std::vector<Packet> found(Harness& gallery) {
  Harness search("search", std::make_unique<Search>());
  search.set("k", 5);
  refer_to(search, gallery);
  search.push(batch(0, {"shirt", "new, red"}, torch::tensor({{2.F, 0.F}, {0.F, 1.F}}))).finish();
  return search.take_outputs();
}

const auto conformance = seam::testing::conformance<NearestNeighbours>({
    .parameters = {{"k", std::int64_t{2}}},
    .packets = [](Harness&) { return found(*gathered()); },
    .connect =
        [](Harness& sink) {
          auto gallery = gathered();
          refer_to(sink, *gallery);
          return gallery;
        },
});

class NeighboursTest : public ::testing::Test {
 protected:
  NeighboursTest() {
    harness_.run_directory(folder_.path()).set("k", 2);
    refer_to(harness_, *gallery_);
  }
  [[nodiscard]] std::string content() const {
    return test::text_of_file(folder_.path() / "nearest.csv");
  }

  test::TemporaryFolder folder_;
  std::shared_ptr<Harness> gallery_ = gathered();
  Harness harness_{"nearest", std::make_unique<NearestNeighbours>()};
};

const std::string header =
    "query,query_index,query_item,mask,rank,picture,index,item,category,metric,distance,"
    "similarity\n";

TEST_F(NeighboursTest, ALineForEachNeighbourNearestFirst) {
  harness_.push_all(found(*gallery_)).finish();
  EXPECT_EQ(content(), header +
                           "shirt,0,shirt,none,1,shirt,10,shirt,0,cosine,0,1\n"
                           "shirt,0,shirt,none,2,skirt,11,skirt,0,cosine,2,0\n"
                           "\"new, red\",1,\"new, red\",none,1,skirt,11,skirt,0,"
                           "cosine,0,1\n"
                           "\"new, red\",1,\"new, red\",none,2,shirt,10,shirt,0,"
                           "cosine,2,0\n");
}

TEST_F(NeighboursTest, DistancesOfAReRankingAreNoCosines) {
  harness_.push_all(found_by("exact/rerank=k-reciprocal(2,1,0.3)-of-5", found(*gallery_))).finish();
  std::istringstream lines(content());
  std::string line;
  std::getline(lines, line);
  int count = 0;
  while (std::getline(lines, line)) {
    EXPECT_THAT(line,
                AllOf(HasSubstr(",\"cosine/search=exact/rerank=k-reciprocal(2,1,0.3)-of-5\","),
                      EndsWith(",")));
    ++count;
  }
  EXPECT_EQ(count, 4);
}

TEST_F(NeighboursTest, QueryExpansionIsNamedWhereTheSimilarityIsOfTheMovedQuery) {
  harness_.push_all(found_by("exact/expand=average(10)", found(*gallery_))).finish();
  EXPECT_THAT(content(), HasSubstr("shirt,0,shirt,none,1,shirt,10,shirt,0,"
                                   "cosine/search=exact/expand=average(10),0,1\n"));
}

TEST_F(NeighboursTest, ASmallGalleryGivesFewerLines) {
  harness_.set("k", 5);
  harness_.push_all(found(*gallery_)).finish();
  const std::string text = content();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 2 * 3);
}

std::string message(Harness& harness, std::vector<Packet> packets) {
  return test::message_of([&] {
    harness.forget();
    harness.push_all(std::move(packets)).finish();
    if (!harness.errors().empty()) throw harness.errors().front();
  });
}

TEST_F(NeighboursTest, RowsOfAnotherGalleryAreRefused) {
  EXPECT_THAT(message(harness_, found(*gathered({"shirt", "dress", "shirt"}))),
              HasSubstr("a different gallery from the one in 'index': their items differ"));
  Harness larger("gallery", std::make_unique<Index>());
  larger.push(batch(0, {"a", "b", "c", "d"}, torch::eye(4).slice(1, 0, 2) + 1)).finish();
  EXPECT_THAT(message(harness_, found(larger)),
              HasSubstr("has 4 images, the one in 'index' has 3"));
  Harness empty("gallery", std::make_unique<Index>());
  empty.open();
  Harness sink("nearest", std::make_unique<NearestNeighbours>());
  sink.run_directory(folder_.path()).set("k", 2);
  refer_to(sink, empty);
  EXPECT_THAT(message(sink, found(*gallery_)), HasSubstr("the one in 'index' has no images yet"));
  EXPECT_FALSE(fs::exists(folder_.path() / "nearest.csv"));
}

TEST_F(NeighboursTest, AFlowWithoutQueriesIsAnError) {
  harness_.finish();
  EXPECT_THAT(only_error(harness_).what(), HasSubstr("no query was received"));
}

}  // namespace seam::stages::export_neighbours_test
