#include "stages/retrieval/embedded.hpp"

#include <cstring>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/shard.hpp>
#include <seam/testing.hpp>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::embedded_test {

namespace fs = std::filesystem;
using seam::testing::Harness;

/// A file of export.embeddings with two columns.
std::string npy(const std::vector<float>& numbers) {
  std::string bytes("\x93NUMPY\x01\x00v\x00", 10);
  bytes += "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
           std::to_string(numbers.size() / 2) + ", " + std::to_string(numbers.empty() ? 0 : 2) +
           "), }";
  bytes.resize(127, ' ');
  bytes += '\n';
  const std::size_t header = bytes.size();
  bytes.resize(header + numbers.size() * sizeof(float));
  std::memcpy(bytes.data() + header, numbers.data(), numbers.size() * sizeof(float));
  return bytes;
}

void write(const test::TemporaryFolder& folder, const std::string& stem,
           const std::vector<float>& numbers, const std::string& rows) {
  (void)folder.write(stem + ".npy", npy(numbers));
  (void)folder.write(stem + ".csv", "row,path,index,item,category,list,number\n" + rows);
}

/// The part of summary.json that the stage reads.
std::string summary(char inputs, bool complete = true, int code = 0) {
  return std::string(R"({"error":"\"complete\":true","complete":)") +
         (complete ? "true" : "false") + R"(,"exit_code":)" + std::to_string(code) +
         R"(,"inputs":")" + std::string(64, inputs) + "\"}\n";
}

/// Two shards of three, and an empty one.
void write_parts(const test::TemporaryFolder& folder) {
  write(folder, "part-00000-of-00003/embeddings", {1, 2, 7, 8},
        "0,a.jpg,5,shirt,3,list.txt,0\n1,\"d,e.jpg\",8,,,list.txt,4\n");
  write(folder, "part-00001-of-00003/embeddings", {3, 4, 5, 6},
        "0,b.jpg,6,shirt,3,list.txt,1\n1,c.jpg,7,coat,4,list.txt,2\n");
  write(folder, "part-00002-of-00003/embeddings", {}, "");
  for (const char* part : {"part-00000", "part-00001", "part-00002"}) {
    (void)folder.write(std::string(part) + "-of-00003/summary.json", summary('a'));
  }
}

struct Parts {
  test::TemporaryFolder folder;
};

const auto conformance = seam::testing::conformance<Embedded>({
    .parameters = {{"folder", std::string("nowhere")}, {"size", std::int64_t{2}}},
    .connect =
        [](Harness& harness) {
          auto parts = std::make_shared<Parts>();
          write_parts(parts->folder);
          write(parts->folder, "part-00000-of-00003/other", {1, 2}, "0,z.jpg,5,,,list.txt,0\n");
          write(parts->folder, "part-00001-of-00003/other", {}, "");
          write(parts->folder, "part-00002-of-00003/other", {}, "");
          harness.set("folder", parts->folder.path().string());
          return parts;
        },
    .second = {{"name", std::string("other")}},
});

class EmbeddedTest : public ::testing::Test {
 protected:
  /// All rows, in batches of `size`.
  std::vector<Packet> serve(int size = 1024) {
    Harness harness("embedded", std::make_unique<Embedded>());
    harness.set("folder", folder_.path().string()).set("size", size).produce();
    return harness.outputs();
  }

  test::TemporaryFolder folder_;
};

TEST_F(EmbeddedTest, ServesTheRowsOfPartsByNumber) {
  write_parts(folder_);
  for (const int size : {1, 3, 4, 100}) {
    std::vector<std::string> paths;
    std::vector<std::string> items;
    std::vector<std::int64_t> indices;
    std::vector<std::int64_t> categories;
    std::vector<std::int64_t> numbers;
    std::vector<float> vectors;
    for (const Packet& batch : serve(size)) {
      EXPECT_LE(batch.get(field::items).size(), static_cast<std::size_t>(size));
      for (std::size_t row = 0; row < batch.get(field::items).size(); ++row) {
        paths.push_back(batch.get(field::origins)[row].item);
        EXPECT_EQ(*batch.get(field::origins)[row].file, "list.txt");
        items.push_back(batch.get(field::items)[row]);
        indices.push_back(batch.get(field::indices)[row]);
        categories.push_back(batch.get(field::categories)[row]);
        numbers.push_back(batch.get(field::packet_numbers)[row]);
      }
      const Tensor embedding = batch.get(field::embedding);
      const float* const data = embedding.data_ptr<float>();
      vectors.insert(vectors.end(), data, data + embedding.numel());
    }
    EXPECT_THAT(paths, ElementsAre("a.jpg", "b.jpg", "c.jpg", "d,e.jpg")) << size;
    EXPECT_THAT(items, ElementsAre("shirt", "shirt", "coat", ""));
    EXPECT_THAT(indices, ElementsAre(5, 6, 7, 8));
    EXPECT_THAT(categories, ElementsAre(3, 3, 4, -1));
    EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 4));
    EXPECT_THAT(vectors, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  }
}

TEST_F(EmbeddedTest, HalvesAreServedAsFloats) {
  write(folder_, "embeddings", {0, 0, 0, 0}, "0,b.jpg,,,,list.txt,\n1,a.jpg,,,,list.txt,\n");
  std::string bytes = npy({0, 0, 0, 0}).substr(0, 128);
  bytes.replace(bytes.find("<f4"), 3, "<f2");
  using namespace std::string_literals;
  // 1, 0.0999755859375, -2, 65504
  (void)folder_.write("embeddings.npy", bytes + "\x00\x3c\x66\x2e\x00\xc0\xff\x7b"s);
  const std::vector<Packet> batches = serve(1);
  ASSERT_EQ(batches.size(), 2U);
  const Tensor expected = torch::tensor({{1.F, 0.0999755859375F}, {-2.F, 65504.F}});
  EXPECT_TRUE(torch::equal(batches[0].get(field::embedding), expected.slice(0, 0, 1)));
  EXPECT_TRUE(torch::equal(batches[1].get(field::embedding), expected.slice(0, 1, 2)));
  (void)folder_.write("embeddings.npy", bytes + "short");
  EXPECT_REFUSED(serve(), Fault::data, "is not a complete file of export.embeddings");
}

TEST_F(EmbeddedTest, ServesTheFilesOfOneRunInTheirOrder) {
  write(folder_, "embeddings", {9, 9, 1, 1}, "0,b.jpg,,,,list.txt,\n1,a.jpg,,,,list.txt,\n");
  const std::vector<Packet> batches = serve();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].get(field::origins)[0].item, "b.jpg");
  EXPECT_EQ(batches[0].get(field::embedding)[1][0].item<float>(), 1);
}

TEST_F(EmbeddedTest, ItsListingIsThatOfTheRowsAndVectors) {
  const auto digest = [this](const std::string& rows, int size = 1024, float first = 9) {
    write(folder_, "embeddings", {first, 9, 1, 1}, rows);
    Harness harness("embedded", std::make_unique<Embedded>());
    harness.set("folder", folder_.path().string()).set("size", size).open();
    void* found = harness.runner().interface(type_name<Listing>());
    return static_cast<Listing*>(found)->listing_digest();
  };
  const std::uint64_t before = digest("0,b.jpg,,hat,,list.txt,\n1,a.jpg,,coat,,list.txt,\n");
  EXPECT_EQ(digest("0,b.jpg,,hat,,list.txt,\n1,a.jpg,,coat,,list.txt,\n", 1), before);
  EXPECT_NE(digest("0,b.jpg,,hat,,list.txt,\n1,a.jpg,,hat,,list.txt,\n"), before);
  EXPECT_NE(digest("0,b.jpg,,hat,,list.txt,\n1,a.jpg,,coat,,list.txt,\n", 1024, 8), before)
      << "of another network";
}

TEST_F(EmbeddedTest, RefusesLinesInAnotherOrderThanTheVectors) {
  for (const char* rows : {"1,a.jpg,,,,list.txt,\n0,b.jpg,,,,list.txt,\n",
                           "1,a.jpg,,,,list.txt,\n2,c.jpg,,,,list.txt,\n"}) {
    write(folder_, "embeddings", {9, 9, 1, 1}, rows);
    EXPECT_REFUSED(serve(), Fault::data,
                   "embeddings.csv:2: the column 'row' is 1, but this is row 0 of '");
  }
  write(folder_, "embeddings", {9, 9, 1, 1}, "0,b.jpg,,,,list.txt,\n,a.jpg,,,,list.txt,\n");
  EXPECT_REFUSED(serve(), Fault::data, "embeddings.csv:3: the column 'row' is empty, but this is");
}

TEST_F(EmbeddedTest, RefusesPartsThatAreNotWhole) {
  EXPECT_REFUSED(serve(), Fault::data, "there are no embeddings");
  write_parts(folder_);
  fs::remove_all(folder_.path() / "part-00001-of-00003");
  EXPECT_REFUSED(serve(), Fault::data, "no 'part-00000-of-00002'");
  write_parts(folder_);
  write(folder_, "part-00002-of-00003/embeddings", {1, 1}, "0,a.jpg,,,,list.txt,4\n");
  EXPECT_REFUSED(serve(), Fault::data, "number 4 is in ");
  write(folder_, "part-00002-of-00003/embeddings", {1, 1, 2, 2}, "0,a.jpg,,,,list.txt,9\n");
  EXPECT_REFUSED(serve(), Fault::data, "has 1 rows, but the .npy file has 2");
  (void)folder_.write("part-00002-of-00003/embeddings.npy", npy({1, 1}).substr(0, 130));
  EXPECT_REFUSED(serve(), Fault::data, "is not a complete file of export.embeddings");
  fs::remove(folder_.path() / "part-00002-of-00003/embeddings.npy");
  EXPECT_REFUSED(serve(), Fault::data, "cannot be read");
}

TEST_F(EmbeddedTest, RefusesPartsThatAreNotCompleteOrNotAlike) {
  const std::string file = "part-00001-of-00003/summary.json";
  write_parts(folder_);
  for (const std::string& unfinished :
       {summary('a', false), summary('a', true, 1), std::string()}) {
    (void)folder_.write(file, unfinished);
    EXPECT_REFUSED(serve(), Fault::data, "part-00001-of-00003' is the folder of a shard that has");
  }
  fs::remove(folder_.path() / file);
  EXPECT_REFUSED(serve(), Fault::data, "part-00001-of-00003' is the folder of a shard that has");
  for (const char* without : {R"({"complete":true,"exit_code":0})",
                              R"({"complete":true,"exit_code":0,"inputs":"","files":{}})"}) {
    (void)folder_.write(file, without);
    EXPECT_REFUSED(serve(), Fault::data, "00001-of-00003/summary.json' was not written by a shard");
  }
  (void)folder_.write(file, summary('b'));
  EXPECT_REFUSED(serve(), Fault::data, "part-00001-of-00003' was made with another pipeline");
}

}  // namespace seam::stages::embedded_test
