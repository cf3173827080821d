#include "stages/export/embeddings.hpp"

#include <cstring>
#include <limits>
#include <seam/conformance.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::embeddings_test {

namespace fs = std::filesystem;
using namespace std::string_literals;
using seam::testing::Harness;

Packet batch(const Tensor& embedding, const std::vector<std::string>& paths) {
  Packet packet;
  std::vector<Origin> origins;
  origins.reserve(paths.size());
  for (const std::string& path : paths) {
    origins.push_back({std::make_shared<std::string>("list.txt"), 1, path});
  }
  packet.set(field::origins, origins);
  packet.set(field::embedding, embedding);
  return packet;
}

const auto conformance = seam::testing::conformance<Embeddings>({
    .packets = [](Harness&) -> std::vector<Packet> {
      return {batch(torch::ones({2, 3}), {"a", "b"}), batch(torch::ones({1, 3}), {"c"})};
    },
});

class EmbeddingsTest : public ::testing::Test {
 protected:
  EmbeddingsTest() { harness_.run_directory(folder_.path()); }

  [[nodiscard]] std::string content(const std::string& name) const {
    return test::text_of_file(folder_.path() / name);
  }
  /// The values after the header.
  [[nodiscard]] std::vector<float> numbers(const std::string& name) const {
    const std::string bytes = content(name).substr(128);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
    return numbers;
  }

  test::TemporaryFolder folder_;
  Harness harness_{"vectors", std::make_unique<Embeddings>()};
};

std::string message(Harness& harness, const Packet& packet) {
  return test::message_of([&] {
    harness.push(packet).finish();
    if (!harness.errors().empty()) throw harness.errors().front();
  });
}

TEST_F(EmbeddingsTest, WritesVectorsAndALineForEach) {
  // Row by row, although the columns are consecutive in memory.
  Packet first = batch(torch::tensor({{1.F, 3.F}, {2.F, 4.F}}).t(), {"a.jpg", "b,c.jpg"});
  first.set(field::indices, {7, -1});
  first.set(field::items, {"shirt", ""});
  first.set(field::categories, {3, -1});
  first.set(field::packet_numbers, {0, 2});
  harness_.push(first).push(batch(torch::tensor({{5.F, 6.F}}), {"d.jpg"}));
  EXPECT_EQ(content("vectors.npy"), "") << "before the flow has ended";
  harness_.finish();
  EXPECT_THAT(content("vectors.npy"), HasSubstr("'shape': (3, 2), }"));
  EXPECT_EQ(numbers("vectors.npy"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(content("vectors.csv"),
            "row,path,index,item,category,list,number\n"
            "0,a.jpg,7,shirt,3,list.txt,0\n"
            "1,\"b,c.jpg\",,,,list.txt,2\n"
            "2,d.jpg,,,,list.txt,\n");
}

TEST_F(EmbeddingsTest, HalvesAreTheNearestNumbers) {
  harness_.set("precision", "float16");
  harness_.push(batch(torch::tensor({{1.F, 0.1F}, {-2.F, 65504.F}}), {"a", "b"})).finish();
  EXPECT_THAT(content("vectors.npy"), HasSubstr("'descr': '<f2', "));
  // 1, 0.0999755859375, -2, 65504
  EXPECT_EQ(content("vectors.npy").substr(128), "\x00\x3c\x66\x2e\x00\xc0\xff\x7b"s);
}

TEST_F(EmbeddingsTest, NumbersBeyondHalvesAreRefused) {
  harness_.set("precision", "float16");
  EXPECT_THAT(
      message(harness_, batch(torch::tensor({{1.F}, {-65520.F}}), {"a", "b.jpg"})),
      HasSubstr("the embedding of list.txt:1 (b.jpg) has elements beyond the largest number "
                "of float16"));
  EXPECT_FALSE(fs::exists(folder_.path() / "vectors.npy"));
}

TEST_F(EmbeddingsTest, NumbersThatHalvesLoseAreRefused) {
  harness_.set("precision", "float16");
  EXPECT_THAT(
      message(harness_, batch(torch::tensor({{0.F, 0.F}, {6e-5F, -1e-9F}}), {"a", "b.jpg"})),
      HasSubstr("all elements of the embedding of list.txt:1 (b.jpg) are below 6.1e-5"));
}

TEST_F(EmbeddingsTest, AFlowThatRunsAgainReplacesTheFilesUnlessItFails) {
  harness_.push(batch(torch::ones({2, 2}), {"a", "b"})).finish();
  harness_.epoch(1).push(batch(torch::zeros({1, 4}), {"c"})).finish();
  EXPECT_EQ(numbers("vectors.npy"), std::vector<float>(4, 0));
  EXPECT_EQ(content("vectors.csv"), "row,path,index,item,category,list,number\n0,c,,,,list.txt,\n");
  harness_.push(batch(torch::ones({1, 2}), {"b"})).close();
  EXPECT_EQ(numbers("vectors.npy"), std::vector<float>(4, 0));
  EXPECT_FALSE(fs::exists(folder_.path() / "vectors.npy.part"));
  EXPECT_FALSE(fs::exists(folder_.path() / "vectors.csv.part"));
}

TEST_F(EmbeddingsTest, CreatesTheFolder) {
  harness_.set("folder", "deep/er");
  harness_.push(batch(torch::ones({1, 2}), {"a"})).finish();
  EXPECT_EQ(numbers("deep/er/vectors.npy").size(), 2U);
  EXPECT_TRUE(fs::exists(folder_.path() / "deep/er/vectors.csv"));
}

TEST_F(EmbeddingsTest, RefusesWhatNobodyCanCompare) {
  Tensor vectors = torch::ones({3, 2});
  vectors[1][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message(harness_, batch(vectors, {"a", "b.jpg", "c"})),
              HasSubstr("the embedding of list.txt:1 (b.jpg) has elements that are not finite"));
  EXPECT_FALSE(fs::exists(folder_.path() / "vectors.npy"));
}

TEST_F(EmbeddingsTest, OneFileHoldsOneLength) {
  harness_.push(batch(torch::ones({1, 2}), {"a"}));
  EXPECT_THAT(message(harness_, batch(torch::ones({1, 3}), {"b"})),
              HasSubstr("has 3 elements, those before it have 2"));
}

TEST_F(EmbeddingsTest, AFlowWithoutPicturesIsAnError) {
  harness_.finish();
  EXPECT_THAT(only_error(harness_).what(), HasSubstr("no embedding was received"));
}

TEST_F(EmbeddingsTest, AShardWithoutPicturesWritesFilesWithoutRows) {
  auto stage = std::make_unique<Embeddings>();
  Embeddings& embeddings = *stage;
  Harness harness("vectors", std::move(stage));
  harness.run_directory(folder_.path()).open();
  embeddings.begin_part();
  harness.finish();
  EXPECT_TRUE(harness.errors().empty());
  EXPECT_THAT(content("vectors.npy"), HasSubstr("'shape': (0, 0), }"));
  EXPECT_EQ(content("vectors.csv"), "row,path,index,item,category,list,number\n");
  EXPECT_EQ(embeddings.part_files(), (std::vector<fs::path>{folder_.path() / "vectors.npy",
                                                            folder_.path() / "vectors.csv"}));
}

TEST_F(EmbeddingsTest, NeedsAFolder) {
  Harness harness("vectors", std::make_unique<Embeddings>());
  EXPECT_THAT(message(harness, batch(torch::ones({1, 2}), {"a"})),
              HasSubstr("give an absolute path as 'folder'"));
}

}  // namespace seam::stages::embeddings_test
