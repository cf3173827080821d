#include "stages/report/neighbours.hpp"

#include <fstream>
#include <seam/conformance.hpp>

#include "stages/image/encode_jpeg.hpp"
#include "stages/picture_paths.hpp"
#include "stages/report/contact_sheet.hpp"
#include "tests/stages/retrieval/batches.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::report_neighbours_test {

using retrieval::Rankings;
using retrieval_test::batch;
using retrieval_test::found_by;
using retrieval_test::refer_to;
using seam::testing::Harness;

using Json = nlohmann::ordered_json;
using Files = std::vector<std::filesystem::path>;

/// Images have the names of their items.
std::shared_ptr<Harness> gathered() {
  auto gallery = std::make_shared<Harness>("gallery", std::make_unique<Index>());
  const auto vectors = torch::tensor({{1.F, 0.F}, {0.F, 2.F}, {-3.F, 0.F}});
  gallery->push(batch(10, {"shirt", "skirt", "dress"}, vectors)).finish();
  return gallery;
}

/// The first query is answered at once, the second at rank 2.
std::vector<Packet> found(Harness& gallery) {
  Harness search("search", std::make_unique<Search>());
  search.set("k", 3);
  refer_to(search, gallery);
  search.push(batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {-2.F, 1.F}}))).finish();
  return search.take_outputs();
}

void draw_pictures(const test::TemporaryFolder& folder, const std::vector<std::string>& names) {
  Image image(40, 20, 3);
  std::fill_n(image.data(), image.bytes(), std::uint8_t{128});
  const auto bytes = encode_jpeg(image);
  for (const std::string& name : names) {
    folder.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

std::string pictures_of_the_suite() {
  static const test::TemporaryFolder folder;
  draw_pictures(folder, {"shirt", "skirt", "dress"});
  return folder.path().string();
}

const auto conformance = seam::testing::conformance<DrawnNeighbours>({
    .parameters = {{"root", pictures_of_the_suite()}, {"k", std::int64_t{2}}},
    .packets = [](Harness&) { return found(*gathered()); },
    .connect =
        [](Harness& sink) {
          auto gallery = gathered();
          refer_to(sink, *gallery);
          return gallery;
        },
    .given = {{"worst", {{"best", std::int64_t{0}}}}},
});

class DrawnNeighboursTest : public ::testing::Test {
 protected:
  DrawnNeighboursTest() {
    harness_.run_directory(run_.path()).set("k", 2).set("root", pictures_.path().string());
    refer_to(harness_, *gallery_);
  }

  [[nodiscard]] Json drawn() const {
    std::ifstream stream(run_.path() / "pictures/nearest/epoch-0003.json");
    return Json::parse(stream);
  }

  test::TemporaryFolder run_;
  test::TemporaryFolder pictures_;
  std::shared_ptr<Harness> gallery_ = gathered();
  Harness harness_{"nearest", std::make_unique<DrawnNeighbours>()};
};

TEST_F(DrawnNeighboursTest, LeavesTheQueriesWithFramedNeighbours) {
  draw_pictures(pictures_, {"shirt", "skirt", "dress"});
  harness_.set("best", 1).set("worst", 1).set("per_category", 1);
  harness_.epoch(3).push_all(found(*gallery_)).finish();
  const Json set = drawn();
  EXPECT_EQ(set.at("format"), 1);
  EXPECT_EQ(set.at("kind"), "neighbours");
  EXPECT_EQ(set.at("epoch"), 3);
  EXPECT_THAT(set.at("note").get<std::string>(), HasSubstr("never to rank"));
  ASSERT_THAT(set.at("groups"), SizeIs(3));
  const Json& best = set.at("groups")[0].at("queries")[0];
  EXPECT_EQ(best.at("query").at("item"), "shirt");
  EXPECT_EQ(best.at("first_right"), 1);
  const Json& worst = set.at("groups")[1].at("queries")[0];
  EXPECT_EQ(worst.at("query").at("item"), "skirt");
  ASSERT_THAT(worst.at("neighbours"), SizeIs(2));
  EXPECT_EQ(worst.at("neighbours")[0].at("item"), "dress");
  EXPECT_EQ(worst.at("neighbours")[0].at("right"), false);
  EXPECT_EQ(worst.at("neighbours")[1].at("item"), "skirt");
  EXPECT_EQ(worst.at("neighbours")[1].at("right"), true);
  const auto file = worst.at("neighbours")[0].at("file").get<std::string>();
  EXPECT_TRUE(std::filesystem::exists(run_.path() / "pictures/nearest" / file)) << file;
}

/// Files of the same name are next to the list, which is not what was embedded.
TEST_F(DrawnNeighboursTest, DrawsTheFilesThatWereEmbedded) {
  const Files files{pictures_.path() / "shirt", pictures_.path() / "skirt"};
  draw_pictures(pictures_, {"shirt", "skirt"});
  for (const char* name : {"decoy/shirt", "decoy/skirt"}) pictures_.write(name, "no picture");
  Packet images = batch(10, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {0.F, 2.F}}));
  images.set(field::paths, Files{files[0], boxed_path(files[1], {0, 0, 2, 2})});
  images = retrieval_test::of_list((pictures_.path() / "decoy/list.txt").string(), images);
  Harness gallery("gallery", std::make_unique<Index>());
  gallery.push(images).finish();
  Harness search("search", std::make_unique<Search>());
  search.set("k", 2);
  refer_to(search, gallery);
  for (std::int64_t& index : images[field::indices]) index += 5;
  search.push(images).finish();
  Harness sink("nearest", std::make_unique<DrawnNeighbours>());
  sink.run_directory(run_.path()).set("k", 2);
  refer_to(sink, gallery);
  sink.epoch(3).push_all(search.take_outputs()).finish();
  ASSERT_TRUE(sink.errors().empty()) << sink.errors()[0].full_message();
  EXPECT_THAT(drawn().dump(), Not(HasSubstr("problem")));
}

TEST_F(DrawnNeighboursTest, ASheetHasARowPerQuery) {
  draw_pictures(pictures_, {"shirt", "skirt"});  // "dress" is missing, but keeps its cell
  harness_.set("best", 1).set("worst", 1).set("per_category", 0).set("size", 32);
  harness_.epoch(3).push_all(found(*gallery_)).finish();
  EXPECT_EQ(drawn().at("sheet"), "epoch-0003/sheet.jpg");
  const Image sheet = read_thumbnail(run_.path() / "pictures/nearest/epoch-0003/sheet.jpg", 10'000);
  EXPECT_EQ(sheet.width(), 3 * (32 + 8));
  EXPECT_EQ(sheet.height(), 2 * (32 + 8 + 26));
}

TEST_F(DrawnNeighboursTest, TheNoteNamesWhatChangedTheDistances) {
  harness_.epoch(3).push_all(found(*gallery_)).finish();
  EXPECT_THAT(drawn().at("note").get<std::string>(),
              HasSubstr("under mask none by squared_euclidean. Labels"));
  harness_.push_all(found_by("exact/rerank=k-reciprocal(2,1,0.3)-of-3", found(*gallery_))).finish();
  ASSERT_TRUE(harness_.errors().empty()) << harness_.errors()[0].full_message();
  EXPECT_THAT(drawn().at("note").get<std::string>(),
              HasSubstr("by squared_euclidean/search=exact/rerank=k-reciprocal(2,1,0.3)-of-3. "
                        "Distances are those of the re-ranking, not of squared_euclidean."));
}

TEST_F(DrawnNeighboursTest, QueriesSearchedInDifferentWaysAreRefused) {
  harness_.push_all(found(*gallery_));
  harness_.push_all(found_by("exact/rerank=k-reciprocal(2,1,0.3)-of-3", found(*gallery_)));
  std::vector<Packet> by_cosine = found(*gallery_);
  Rankings rankings = by_cosine.at(0).get(field::rankings);
  rankings.by_mask.front().metric = retrieval::Metric::cosine;
  by_cosine.at(0).set(field::rankings, rankings);
  harness_.push_all(std::move(by_cosine));
  ASSERT_EQ(harness_.errors().size(), 2U);
  EXPECT_THAT(harness_.errors()[0].what(), HasSubstr("searched in different ways"));
  EXPECT_THAT(harness_.errors()[1].what(), HasSubstr("searched in different ways"));
}

TEST_F(DrawnNeighboursTest, APictureThatCannotBeReadIsMissing) {
  draw_pictures(pictures_, {"shirt", "dress"});
  pictures_.write("skirt", "no picture");
  harness_.set("best", 1).set("worst", 1);
  harness_.epoch(3).push_all(found(*gallery_)).finish();
  const Json set = drawn();
  const Json& worst = set.at("groups")[1].at("queries")[0];
  EXPECT_FALSE(worst.at("query").contains("file"));
  EXPECT_TRUE(worst.at("query").contains("problem"));
  EXPECT_TRUE(worst.at("neighbours")[0].contains("file"));
  EXPECT_THAT(harness_.log().back().text, HasSubstr("images could not be drawn"));
}

TEST_F(DrawnNeighboursTest, NeedsQueriesAndAFolder) {
  harness_.finish();
  EXPECT_THAT(only_error(harness_).what(), HasSubstr("no query was received"));
  Harness homeless("nearest", std::make_unique<DrawnNeighbours>());
  refer_to(homeless, *gallery_);
  EXPECT_REFUSED(homeless.open(), Fault::configuration, "the run has no run folder");
}

AskedQuery query(std::int64_t first_right, float distance, std::int64_t category = 0) {
  AskedQuery query;
  query.category = category;
  query.relevant = 1;
  query.first_right = first_right;
  query.nearest = {{0, distance, first_right == 1}};
  return query;
}

std::vector<QueryGroup> chosen(const std::vector<AskedQuery>& queries, const QueryChoice& choice) {
  return choose_queries(queries, choice, Random(7, 1));
}

TEST(ChooseQueries, TheBestAndTheSurestMistakes) {
  const std::vector<AskedQuery> queries{query(1, 0.5F), query(1, 0.1F), query(3, 0.2F),
                                        query(0, 0.4F), query(0, 0.3F), query(9, 0.1F)};
  EXPECT_THAT(chosen(queries, {.best = 2, .worst = 3, .per_category = 0}),
              ElementsAre(QueryGroup{"Best", {1, 0}}, QueryGroup{"Worst", {4, 3, 5}}));
}

TEST(ChooseQueries, NeitherHasWhatCannotBeAnsweredNorOneTwice) {
  std::vector<AskedQuery> queries{query(1, 0.5F), query(0, 0.1F)};
  queries[1].relevant = 0;
  EXPECT_THAT(chosen(queries, {.best = 4, .worst = 4, .per_category = 0}),
              ElementsAre(QueryGroup{"Best", {0}}));
  EXPECT_THAT(chosen({}, {}), IsEmpty());
}

TEST(ChooseQueries, SamplesTheLargestCategoriesTheSameWayWhateverWasFound) {
  std::vector<AskedQuery> queries;
  for (int i = 0; i < 60; ++i) queries.push_back(query(1, 0.1F, i < 50 ? i % 2 : 5));
  const auto first = chosen(queries, {.best = 0, .worst = 0, .per_category = 3, .categories = 2});
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].title, "Category 0, at random");
  EXPECT_EQ(first[1].title, "Category 1, at random");
  EXPECT_EQ(chosen(queries, {.best = 0, .worst = 0, .per_category = 3, .names = {"Dresses"}})
                .front()
                .title,
            "Dresses, at random");
  EXPECT_THAT(first[0].queries, SizeIs(3));
  for (AskedQuery& each : queries) each.first_right = 0;
  EXPECT_EQ(chosen(queries, {.best = 0, .worst = 0, .per_category = 3, .categories = 2}), first);
}

TEST(ChooseQueries, WithoutCategoriesThereIsOneSample) {
  const std::vector<AskedQuery> queries(5, query(1, 0.1F, -1));
  const auto groups = chosen(queries, {.best = 0, .worst = 0, .per_category = 9});
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].title, "At random");
  EXPECT_THAT(groups[0].queries, SizeIs(5));
}

}  // namespace seam::stages::report_neighbours_test
