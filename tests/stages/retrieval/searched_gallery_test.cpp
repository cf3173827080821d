/// Information from the search for the metric, in addition to the rankings: how many images each
/// query could find, the lists of the gallery, and whether each image has an item.
#include "stages/retrieval/searched_gallery.hpp"

#include <filesystem>
#include <memory>
#include <seam/testing.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stages/picture_paths.hpp"
#include "stages/published_lists.hpp"
#include "stages/served_items.hpp"
#include "tests/stages/retrieval/batches.hpp"
#include "tests/stages/retrieval/other_peoples_stages.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::searched_gallery_test {

using retrieval_test::batch;
using retrieval_test::of_list;
using retrieval_test::Retrieval;
using retrieval_test::Texts;
using seam::testing::Harness;
using seam::testing::LogLine;
using ::testing::Field;

/// A data set that reports how it differs from published lists.
class Lists final : public Source, public PublishedLists {
 public:
  explicit Lists(std::string difference, std::string name = "inshop")
      : difference_(std::move(difference)), name_(std::move(name)) {}
  void declare(Declaration& d) override { d.offers<PublishedLists>(*this); }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] std::string difference() const override { return difference_; }
  [[nodiscard]] std::string published_name() const override { return name_; }

 private:
  std::string difference_;
  std::string name_;
};

/// The batch with its images in these files.
Packet in_files(Packet batch, const std::vector<std::filesystem::path>& files) {
  batch.set(field::paths, files);
  return batch;
}

/// The error of an evaluation of these batches of queries, or "none".
std::string error_of(Retrieval& stages, std::vector<Packet> queries) {
  stages.search.set("k", 1);
  stages.recall.set("k", 1);
  stages.evaluate(std::move(queries));
  EXPECT_TRUE(stages.index.errors().empty());
  EXPECT_TRUE(stages.search.errors().empty());
  if (stages.recall.errors().empty()) return "none";
  EXPECT_EQ(stages.recall.errors()[0].fault(), Fault::configuration);
  return stages.recall.errors()[0].full_message();
}

const Texts two{"a", "b"};

Tensor two_vectors() {
  return torch::tensor({{1.F}, {2.F}});
}

/// The report of an evaluation if the data sets of queries and gallery report these differences.
std::string report_with(const std::string& of_queries, const std::string& of_gallery) {
  Harness queries("queries", std::make_unique<Lists>(of_queries));
  Harness pictures("pictures", std::make_unique<Lists>(of_gallery));
  queries.open();
  pictures.open();
  Retrieval stages({1});
  stages.recall.upstream({&queries.runner()});
  stages.index.upstream({&pictures.runner()});
  stages.index.push(batch(0, {"a", "b"}, torch::tensor({{1.F}, {2.F}}))).finish();
  stages.evaluate({batch(0, {"a"}, torch::ones({1, 1}))});
  EXPECT_TRUE(stages.recall.errors().empty());
  return stages.recall.reports().at(0).text;
}

TEST(SearchedGallery, AGalleryOfOtherListsIsNotComparable) {
  const std::string limited = "the test list has 2 images instead of the published 60,502";
  EXPECT_THAT(
      report_with("", limited),
      HasSubstr("**Not comparable with published numbers:** in the gallery " + limited + ".\n"));
  EXPECT_THAT(report_with(limited, ""),
              HasSubstr("**Not comparable with published numbers:** " + limited + ".\n"));
  EXPECT_THAT(report_with(limited, limited),
              HasSubstr("**Not comparable with published numbers:** " + limited + ".\n"));
  EXPECT_THAT(report_with("the train list", limited),
              HasSubstr("numbers:** the train list, in the gallery " + limited + ".\n"));
  EXPECT_THAT(report_with("", ""), Not(HasSubstr("Not comparable")));
}

TEST(SearchedGallery, APictureWithoutItemIsSearchedButNotCounted) {
  const auto error = [](const Texts& gallery, const Texts& queries) {
    Retrieval stages;
    stages.index.push(batch(0, gallery, two_vectors())).finish();
    const std::string found = error_of(stages, {batch(7, queries, two_vectors())});
    EXPECT_EQ(stages.recall.metrics().empty(), found != "none");
    return found;
  };
  EXPECT_EQ(error({"a", "b"}, {"a", "b"}), "none");
  EXPECT_THAT(error({"a", ""}, {"a", "b"}),
              HasSubstr("list.txt:2 of the gallery has no 'item', so hits cannot be counted"));
  EXPECT_THAT(error({"a", "b"}, {"a", ""}), HasSubstr("query queries.txt:9 has no 'item'"));
}

TEST(SearchedGallery, ChanceIsOfWhatEachQueryCouldFind) {
  Retrieval stages({1});
  stages.search.set("exclude_self", Value{true});
  const torch::Tensor vectors = torch::tensor({{1.F}, {2.F}, {3.F}, {4.F}});
  stages.index.push(batch(0, {"a", "a", "b"}, vectors.slice(0, 0, 3))).finish();
  stages.search.push(batch(0, {"a", "a", "b"}, vectors.slice(0, 0, 3)));
  stages.search.push(batch(3, {"a"}, vectors.slice(0, 3, 4))).finish();
  const std::vector<Packet> packets = stages.search.take_outputs();
  EXPECT_THAT(packets.at(0).get(field::searched_gallery).images, ElementsAre(2, 2, 2));
  EXPECT_THAT(packets.at(1).get(field::searched_gallery).images, ElementsAre(3));
  stages.recall.push_all(packets).finish();
  ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
  // Two find one of two, one finds two of three; the "b" is left out.
  EXPECT_NEAR(stages.recall.metric("none.r@1.chance"), (0.5 + 0.5 + 2.0 / 3) / 3, 1e-12);
  EXPECT_THAT(
      stages.search.log(),
      ElementsAre(Field(&LogLine::text,
                        HasSubstr("does not have 1 query of 4, such as list.txt:4 (a); these"))));
}

TEST(SearchedGallery, LeaveOneOutRefusesAGalleryWithNoneOfTheQueries) {
  Retrieval stages;
  stages.search.set("k", 1).set("exclude_self", Value{true});
  const auto pictures = [](std::int64_t first) { return batch(first, two, two_vectors()); };
  stages.index.push(pictures(0)).finish();
  stages.search.push(pictures(10)).push(pictures(12)).finish();
  ASSERT_EQ(stages.search.errors().size(), 1U);
  EXPECT_EQ(stages.search.errors()[0].fault(), Fault::configuration);
  EXPECT_THAT(stages.search.errors()[0].full_message(),
              AllOf(HasSubstr("the gallery has none of the 4 queries, such as "),
                    HasSubstr("list.txt:11 (a); fill the gallery with")));
  stages.search.push(pictures(0)).finish();  // the next flow
  EXPECT_EQ(stages.search.errors().size(), 1U);
  EXPECT_TRUE(stages.search.log().empty());
}

TEST(SearchedGallery, OfAnotherNumberOfQueriesIsRefused) {
  Retrieval stages({1});
  stages.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  stages.search.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  Packet packet = stages.search.take_outputs().at(0);
  packet.set(field::searched_gallery, SearchedGallery{{1, 1}, "", "", "", "", {}, {}});
  stages.recall.push(std::move(packet));
  EXPECT_THAT(only_error(stages.recall).full_message(), HasSubstr("'searched_gallery' has 2"));
}

/// The same file in the gallery, under another list, index and spelling.
TEST(SearchedGallery, AQueryThatAnotherListPutsIntoTheGalleryIsRefused) {
  const auto error = [](const char* file) {
    Retrieval stages;
    stages.index.push(in_files(batch(0, two, two_vectors()), {"img/1.jpg", "img/2.jpg"})).finish();
    return error_of(stages, {in_files(batch(5, {"b"}, torch::ones({1, 1})), {file})});
  };
  EXPECT_EQ(error("img/3.jpg"), "none");
  EXPECT_THAT(error("img/men/../2.jpg"),
              HasSubstr("query queries.txt:6 (b) is in the gallery, as list.txt:2 (b), and finds "
                        "itself, which counts as a hit; use lists without common images for "
                        "queries and gallery, or set exclude_self = true"));
}

/// Images that are cut from one file are different images.
TEST(SearchedGallery, AQueryWithABoxIsRefusedIfAnotherListPutsThatBoxIntoTheGallery) {
  const auto error = [](const std::filesystem::path& file) {
    Retrieval stages;
    stages.index
        .push(in_files(batch(0, two, two_vectors()), {boxed_path("img/1.jpg", {0, 0, 2, 2}),
                                                      boxed_path("img/1.jpg", {2, 0, 4, 2.5})}))
        .finish();
    return error_of(stages, {in_files(batch(5, {"b"}, torch::ones({1, 1})), {file})});
  };
  EXPECT_EQ(error(boxed_path("img/1.jpg", {2, 0, 4, 2})), "none");
  EXPECT_EQ(error(boxed_path("img/2.jpg", {2, 0, 4, 2.5})), "none");
  EXPECT_EQ(error("img/2.jpg"), "none");
  EXPECT_THAT(error(boxed_path("img/./1.jpg", {2, 0, 4, 2.5})),
              HasSubstr("query queries.txt:6 (b) is in the gallery, as list.txt:2 (b), and finds"));
  EXPECT_THAT(error("img/1.jpg"), HasSubstr("is in the gallery, as list.txt:1 (a), and finds"));
}

TEST(SearchedGallery, AQueryWithABoxIsRefusedIfTheGalleryHasTheWholeImage) {
  const auto error = [](const std::filesystem::path& first, const std::filesystem::path& query,
                        bool itself) {
    Retrieval stages;
    stages.search.set("exclude_self", itself);
    const Tensor vectors = torch::tensor({{1.F}, {2.F}, {3.F}});
    stages.index
        .push(in_files(batch(0, {"a", "b", "a"}, vectors), {first, "img/2.jpg", "img/4.jpg"}))
        .finish();
    return error_of(stages, {in_files(batch(itself ? 0 : 5, {"a"}, torch::ones({1, 1})), {query})});
  };
  const auto part_of = [](const char* file) { return boxed_path(file, {1, 1, 31, 31}); };
  EXPECT_EQ(error("img/1.jpg", part_of("img/3.jpg"), false), "none");
  EXPECT_EQ(error(boxed_path("img/1.jpg", {0, 0, 2, 2}), part_of("img/1.jpg"), false), "none");
  const auto refused = HasSubstr("(a) is in the gallery, as list.txt:2 (b), and finds itself");
  EXPECT_THAT(error("img/1.jpg", part_of("img/./2.jpg"), false), refused);
  EXPECT_EQ(error(part_of("img/1.jpg"), part_of("img/1.jpg"), true), "none");
  EXPECT_THAT(error(part_of("img/2.jpg"), part_of("img/2.jpg"), true), refused);
}

/// A gallery that does not know its files cannot tell whether a query is in it.
TEST(SearchedGallery, AQueryWithAFileIsRefusedIfTheGalleryKnowsNone) {
  const auto error = [](bool itself, bool file) {
    Retrieval stages(std::make_unique<other_people::CityBlock>());
    stages.search.set("exclude_self", itself);
    stages.index.push(in_files(batch(0, {"b", "b"}, two_vectors()), {"1.jpg", "2.jpg"})).finish();
    Packet query = batch(itself ? 1 : 5, {"b"}, torch::ones({1, 1}));
    if (file) query = in_files(std::move(query), {"2.jpg"});
    return error_of(stages, {std::move(query)});
  };
  EXPECT_EQ(error(false, false), "none");
  EXPECT_EQ(error(true, true), "none");
  EXPECT_THAT(error(false, true),
              AllOf(HasSubstr("whether query queries.txt:6 (b) is in the gallery is unknown"),
                    HasSubstr("use retrieval.index, or let the stage derive from")));
}

/// Rows of `retrieval.embedded` have neither files nor lines.
TEST(SearchedGallery, AQueryOfAnEmbeddedGalleryIsRefused) {
  const auto error = [](const std::string& list, std::int64_t index, bool file, bool itself) {
    Retrieval stages;
    stages.search.set("exclude_self", itself).set("k", 1);
    stages.recall.set("k", 1);
    Packet gallery = in_files(batch(0, {"a", "b", "a", "b"}, torch::arange(4.).view({4, 1}) + 1),
                              {{}, {}, {}, {}});
    for (Origin& origin : gallery[field::origins]) origin.line = 0;
    stages.index.push(gallery).finish();
    Packet query = of_list(list, batch(index, {"b"}, torch::ones({1, 1})));
    if (file) query = in_files(std::move(query), {"2.jpg"});
    stages.search.push(std::move(query)).finish();
    EXPECT_TRUE(stages.search.errors().empty());
    stages.recall.push_all(stages.search.take_outputs()).finish();
    if (stages.recall.errors().empty()) return std::string("none");
    EXPECT_EQ(stages.recall.errors()[0].fault(), Fault::configuration);
    return stages.recall.errors()[0].full_message();
  };
  for (const bool file : {false, true}) {
    EXPECT_THAT(error("list.txt", 1, file, false),
                HasSubstr("query list.txt:2 (b) is in the gallery, as list.txt (b), and finds"));
    EXPECT_EQ(error("list.txt", 1, file, true), "none");
  }
  EXPECT_THAT(error("other.txt", 1, true, false),
              AllOf(HasSubstr("whether query other.txt:2 (b) is in the gallery is unknown, because "
                              "the gallery does not have the file of list.txt (a); embed the"),
                    HasSubstr("or set exclude_self = true")));
  EXPECT_THAT(error("list.txt", 7, true, false), HasSubstr("is unknown"));
  EXPECT_EQ(error("other.txt", 1, false, false), "none");
}

/// Queries of `retrieval.embedded` may show an image of the gallery under another list.
TEST(SearchedGallery, AnEmbeddedQueryOfAnotherListIsRefused) {
  const auto error = [](const std::string& list, std::int64_t index,
                        const std::vector<std::filesystem::path>& files, const char* second_list,
                        const char* name = "b") {
    Retrieval stages({1});
    Packet gallery = batch(0, two, two_vectors());
    if (!files.empty()) gallery = in_files(std::move(gallery), files);
    gallery[field::origins][1].file = std::make_shared<const std::string>(second_list);
    stages.index.push(gallery).finish();
    Packet query = of_list(list, batch(index, {name}, torch::ones({1, 1})));
    if (index > 5) query[field::indices][0] = -1;
    for (Origin& origin : query[field::origins]) origin.line = 0;
    stages.search.push(std::move(query)).finish();
    stages.recall.push_all(stages.search.take_outputs()).finish();
    return stages.recall.errors().empty() ? std::string("none")
                                          : stages.recall.errors()[0].full_message();
  };
  const auto unknown = HasSubstr("is in the gallery is unknown, because it has neither a file");
  using Files = std::vector<std::filesystem::path>;
  for (const Files& files : {Files(), Files{"1.jpg", "2.jpg"}}) {
    EXPECT_EQ(error("list.txt", 5, files, "list.txt"), "none");
    EXPECT_THAT(error("list.txt", 1, files, "list.txt"), HasSubstr("and finds itself"));
    EXPECT_THAT(error("other.txt", 5, files, "list.txt"), unknown);
    EXPECT_THAT(error("list.txt", 5, files, "other.txt"), unknown);
    EXPECT_THAT(error("list.txt", 6, files, "list.txt"), unknown);  // without an index
    EXPECT_THAT(error("", 5, files, "list.txt"), unknown);
    EXPECT_THAT(error("other.txt", 5, files, "list.txt", "c"), ::testing::Not(unknown));
  }
}

TEST(SearchedGallery, AQueryWithAFileIsRefusedIfOneImageOfTheGalleryHasNone) {
  const auto error = [](const char* second) {
    Retrieval stages;
    stages.index.push(in_files(batch(0, two, two_vectors()), {"1.jpg", second})).finish();
    return error_of(stages, {in_files(batch(5, {"b"}, torch::ones({1, 1})), {"3.jpg"})});
  };
  EXPECT_EQ(error("2.jpg"), "none");
  EXPECT_THAT(error(""), HasSubstr("does not have the file of list.txt:2 (b)"));
}

TEST(SearchedGallery, OfAnotherPluginIsNotComparedWithPublishedLists) {
  Retrieval stages(std::make_unique<other_people::CityBlock>());
  stages.index.push(batch(0, two, two_vectors())).finish();
  EXPECT_EQ(error_of(stages, {batch(5, {"b"}, torch::ones({1, 1}))}), "none");
  EXPECT_THAT(stages.recall.reports().at(0).text,
              HasSubstr("in the gallery the images were not compared with published lists"));
}

TEST(SearchedGallery, AQueryOfTheGallerysOwnListIsRefused) {
  Retrieval stages({1});
  stages.index.push(batch(0, two, two_vectors())).finish();
  stages.search.push(batch(0, two, two_vectors())).finish();
  stages.recall.push_all(stages.search.take_outputs());
  EXPECT_THAT(only_error(stages.recall).full_message(),
              HasSubstr("query list.txt:1 (a) is in the gallery and finds itself"));
}

TEST(SearchedGallery, LeaveOneOutLeavesOutThatVeryPictureOrIsRefused) {
  const auto error = [](std::int64_t index) {
    Retrieval stages;
    stages.search.set("exclude_self", true);
    const std::vector<std::filesystem::path> files{"1.jpg", "2.jpg", "3.jpg"};
    const Tensor vectors = torch::tensor({{1.F}, {2.F}, {3.F}});
    stages.index.push(in_files(batch(0, {"a", "b", "a"}, vectors), files)).finish();
    return error_of(stages, {in_files(batch(0, {"a"}, torch::ones({1, 1})), {"1.jpg"}),
                             in_files(batch(index, {"a"}, torch::ones({1, 1})), {"3.jpg"})});
  };
  EXPECT_EQ(error(2), "none");
  EXPECT_THAT(error(7), HasSubstr("query queries.txt:8 (a) is in the gallery, as list.txt:3 (a)"));
}

/// The gallery has the query's file under another name, too.
TEST(SearchedGallery, LeaveOneOutIsRefusedIfTheGalleryRepeatsTheImage) {
  const auto error = [](const char* third) {
    Retrieval stages;
    stages.search.set("exclude_self", true);
    const Tensor vectors = torch::tensor({{1.F}, {2.F}, {1.F}});
    stages.index
        .push(in_files(batch(0, {"a", "b", "a"}, vectors), {"img/1.jpg", "img/2.jpg", third}))
        .finish();
    return error_of(stages, {in_files(batch(0, {"a"}, torch::ones({1, 1})), {"img/1.jpg"})});
  };
  EXPECT_EQ(error("img/3.jpg"), "none");
  EXPECT_THAT(error("img/./1.jpg"),
              HasSubstr("is in the gallery, as list.txt:3 (a), and finds itself"));
}

/// Names, items and indices of two lists may be equal although their images are not.
TEST(SearchedGallery, LeaveOneOutIsRefusedIfTheFilesAreOthers) {
  const auto error = [](const std::string& list, const char* file) {
    Retrieval stages;
    stages.search.set("k", 1).set("exclude_self", true);
    stages.index.push(in_files(batch(0, two, two_vectors()), {"a/1.jpg", "a/2.jpg"})).finish();
    stages.search.push(of_list(list, in_files(batch(0, {"a"}, torch::ones({1, 1})), {file})));
    return stages.search.errors().empty() ? "none" : stages.search.errors()[0].full_message();
  };
  EXPECT_EQ(error("list.txt", "a/1.jpg"), "none");
  EXPECT_EQ(error("copy.txt", "a/1.jpg"), "none");
  EXPECT_EQ(error("list.txt", "small/1.jpg"), "none") << "the same list in another resolution";
  EXPECT_THAT(error("other.txt", "b/1.jpg"),
              AllOf(HasSubstr("queries and gallery must be the same list, but index 0 is item 'a' "
                              "of other.txt:1 (a) among the queries and item 'a' of list.txt:1"),
                    HasSubstr("in the gallery")));
}

TEST(SearchedGallery, AQueryThatComesTwiceIsRefused) {
  const auto evaluated = [](Retrieval& stages, std::vector<Packet> queries) {
    stages.index.push(in_files(batch(0, two, two_vectors()), {"1.jpg", "2.jpg"})).finish();
    return error_of(stages, std::move(queries));
  };
  const auto query = [](std::int64_t index) { return batch(index, {"a"}, torch::ones({1, 1})); };
  Retrieval once;
  EXPECT_EQ(evaluated(once, {query(5), query(6)}), "none");
  EXPECT_EQ(evaluated(once, {query(5)}), "none");  // another flow
  Retrieval twice;
  EXPECT_THAT(evaluated(twice, {query(5), query(6), query(5)}),
              HasSubstr("queries.txt:6 (a) occurs twice in one evaluation, in which each "
                        "image counts once; remove samplers"));
  Retrieval one_batch;
  Packet doubled = batch(5, {"a", "a"}, torch::ones({2, 1}));
  doubled[field::indices][1] = 5;
  doubled[field::origins][1] = doubled[field::origins][0];
  EXPECT_THAT(evaluated(one_batch, {doubled}), HasSubstr("occurs twice"));
  Retrieval two_lists;
  EXPECT_THAT(evaluated(two_lists, {in_files(query(5), {"q.jpg"}), in_files(query(6), {"q.jpg"})}),
              HasSubstr("queries.txt:7 (a) occurs twice"));
}

/// The items used for training.
class Training final : public ServedItems {
 public:
  explicit Training(Names names) : names_(std::move(names)) {}
  [[nodiscard]] const Names& served_items() const override { return names_; }

 private:
  Names names_;
};

TEST(SearchedGallery, QueriesOfTheTrainingAreRefused) {
  const auto error = [](const ServedItems::Names& trained, const Texts& queries) {
    Training training(trained);
    Retrieval stages;
    stages.recall.refer<ServedItems>("trained_on", training);
    stages.index.push(batch(0, two, two_vectors())).finish();
    return error_of(stages, {batch(5, queries, torch::ones({1, 1}))});
  };
  EXPECT_EQ(error({"c"}, {"a"}), "none");
  EXPECT_THAT(error({"a", "c"}, {"a"}),
              HasSubstr("query queries.txt:6 (a) shows 'a', which `trained_on` serves to training; "
                        "evaluate items that are not in it"));
}

TEST(SearchedGallery, TheReportNamesTheListsThatWereRead) {
  EXPECT_THAT(report_with("", ""),
              HasSubstr("\nLists that were read: queries 'queries.txt', gallery 'list.txt'.\n"));
}

struct Claim {
  std::string protocol = "inshop/img256";
  std::string name = "inshop";
  std::string difference = {};
  std::string of_gallery = {};
  std::string gallery_list = "official.txt";
};

/// The report for as many images as In-Shop has, in one category and with 256x256 pixels.
std::string report_of_official_counts(const Claim& claim) {
  constexpr std::int64_t items = 3985;
  const auto pictures = [](std::int64_t first, std::int64_t count, const std::string& list) {
    Texts names;
    for (std::int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i % items));
    const Tensor angle = torch::arange(count) * 0.1F + static_cast<float>(first);
    Packet packet = batch(first, names, torch::stack({angle.cos(), angle.sin()}, 1));
    packet.set(field::capsules, packet.get(field::embedding).view({count, 1, 2}));
    packet.set(field::images, torch::zeros({1, 3, 256, 256}).expand({count, 3, 256, 256}));
    return of_list(list, std::move(packet));
  };
  Harness queries("queries", std::make_unique<Lists>(claim.difference, claim.name));
  Harness gallery("pictures", std::make_unique<Lists>(claim.of_gallery, claim.name));
  queries.open();
  gallery.open();
  Retrieval stages;
  stages.masks({"ground_truth"});
  stages.search.set("k", 1);
  stages.recall.set("k", 1).set("protocol", claim.protocol);
  if (!claim.name.empty()) {
    stages.recall.upstream({&queries.runner()});
    stages.index.upstream({&gallery.runner()});
  }
  stages.index.push(pictures(0, 12612, claim.gallery_list)).finish();
  stages.search.push(pictures(20000, 14218, "official.txt")).finish();
  stages.recall.push_all(stages.search.take_outputs()).finish();
  EXPECT_TRUE(stages.recall.errors().empty());
  return stages.recall.reports().at(0).text;
}

TEST(SearchedGallery, PublishedNumbersStandBesideListsThatAreKnownToBeThePublished) {
  const auto published = HasSubstr("| RCCapsNet | 7 and 8 | 33.90 |");
  EXPECT_THAT(report_of_official_counts({}), published);
  const std::vector<Claim> claims{{.protocol = "inshop/cross-colour/img256"},
                                  {.protocol = "inshop/cross-colour"},
                                  {.name = ""},
                                  {.name = "sop"},
                                  {.difference = "another partition"},
                                  {.of_gallery = "another partition"},
                                  {.gallery_list = "other.txt"}};
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_THAT(report_of_official_counts(claims[i]), Not(published)) << "claim " << i;
  }
}

}  // namespace seam::stages::searched_gallery_test
