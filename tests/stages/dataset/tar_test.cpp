#include "stages/dataset/tar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/stages/dataset/layout.hpp"
#include "tests/stages/dataset/tars.hpp"

namespace seam::stages {
namespace tar_test {

using tars::end;
using tars::member;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Texts = std::vector<std::string>;

std::string sample(const std::string& key, const std::string& ending, const std::string& label) {
  return member(key + ".jpg", "pixels of " + key) + member(key + "." + ending, label);
}

void write_tars(const TemporaryFolder& folder) {
  folder.write("t-0.tar",
               sample("0", "json", R"({"item": "a", "sku": "x", "category": "hats"})") +
                   sample("1", "json", R"({"item": "b", "sku": "x", "category": "hats"})") + end);
  folder.write("t-1.tar",
               sample("0", "json", R"({"item": "a", "sku": "y", "category": "boots"})") + end);
}

const auto conformance = testing::conformance<Tar>({
    .parameters = {{"tar", Texts{"nowhere.tar"}}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder(&write_tars);
          harness.set("tar", Texts{(folder->path() / "t-{0..1}.tar").string()});
          return folder;
        },
    .refused = {{{"fold", std::int64_t{1}}}, {{"part", std::string("held_out")}}},
});

/// (list, name, item, category, index)
using Row = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t>;

class TarStage : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<testing::Harness> make(const Texts& names) const {
    auto harness = std::make_unique<testing::Harness>("items", std::make_unique<Tar>());
    Texts tars;
    for (const std::string& name : names) {
      tars.push_back(name.starts_with("pipe:") ? name : (folder_.path() / name).string());
    }
    harness->set("tar", tars);
    return harness;
  }
  [[nodiscard]] std::vector<Row> rows(testing::Harness& harness) const {
    harness.produce();
    std::vector<Row> found;
    for (const Packet& packet : harness.outputs()) {
      const Origin& origin = packet.origin();
      EXPECT_EQ(packet.get(field::path).string(), *origin.file + "/" + origin.item);
      const std::vector<std::uint8_t> bytes = packet.get(field::piece).read();
      EXPECT_EQ(std::string(bytes.begin(), bytes.end()),
                "pixels of " + origin.item.substr(0, origin.item.find('.')));
      found.emplace_back(name_of(origin), origin.item, packet.get(field::item),
                         packet.get(field::category), packet.get(field::index));
    }
    return found;
  }
  [[nodiscard]] std::string name_of(const Origin& origin) const {
    return std::filesystem::path(*origin.file).lexically_relative(folder_.path()).string();
  }

  TemporaryFolder folder_;
};

TEST_F(TarStage, ReadsJsonOfAllTarsInTheGivenOrder) {
  write_tars(folder_);
  const auto harness = make({"t-{1..0}.tar"});
  EXPECT_THAT(rows(*harness),
              ElementsAre(Row{"t-1.tar", "0.jpg", "a", 0, 0}, Row{"t-0.tar", "0.jpg", "a", 1, 1},
                          Row{"t-0.tar", "1.jpg", "b", 1, 2}));
  EXPECT_THAT(names_of(*harness), ElementsAre("boots", "hats"));
  const auto named = make({"t-0.tar", "t-1.tar"});
  named->set("item_field", "sku").set("category_field", "item");
  EXPECT_THAT(rows(*named),
              ElementsAre(Row{"t-0.tar", "0.jpg", "x", 0, 0}, Row{"t-0.tar", "1.jpg", "x", 1, 1},
                          Row{"t-1.tar", "0.jpg", "y", 0, 2}));
}

TEST_F(TarStage, ReadsCls) {
  folder_.write("t.tar", sample("0", "cls", "7\n") + sample("1", "cls", "3") + end);
  const auto harness = make({"t.tar"});
  EXPECT_THAT(rows(*harness),
              ElementsAre(Row{"t.tar", "0.jpg", "7", 7, 0}, Row{"t.tar", "1.jpg", "3", 3, 1}));
  EXPECT_THAT(names_of(*harness), IsEmpty());
}

TEST_F(TarStage, TakesEachPictureForAnItemWithoutLabels) {
  folder_.write("t.tar", sample("0", "txt", "a") + end);
  const std::string path = (folder_.path() / "t.tar/0.jpg").string();
  EXPECT_THAT(rows(*make({"t.tar"})), ElementsAre(Row{"t.tar", "0.jpg", path, 0, 0}));
  folder_.write("t.tar", sample("0", "cls", "7") + end);
  const auto harness = make({"t.tar"});
  harness->set("labels", "none");
  EXPECT_THAT(rows(*harness), ElementsAre(Row{"t.tar", "0.jpg", path, 0, 0}));
}

TEST_F(TarStage, ReadsTheOutputOfACommandOnce) {
  folder_.write("t.tar", sample("0", "cls", "7") + end);
  const std::string command = "echo >>" + (folder_.path() / "calls").string() + "; cat " +
                              (folder_.path() / "t.tar").string();
  const auto harness = make({"pipe:" + command});
  harness->open();
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 1U);
  const Packet& packet = harness->outputs().front();
  EXPECT_EQ(packet.origin().text(), "pipe:" + command + " (0.jpg)");
  EXPECT_EQ(packet.get(field::piece).size, 11U);
  EXPECT_EQ(file_content(folder_.path() / "calls"), "\n");
  EXPECT_REFUSED(make({"pipe:false"})->open(), Fault::data, "'pipe:false' failed with exit code 1");
  EXPECT_REFUSED(make({"pipe:head -c 520 " + (folder_.path() / "t.tar").string()})->open(),
                 Fault::data, "'0.jpg' has 11 bytes, but the file ends");
}

TEST_F(TarStage, RefusesSamplesWithoutTheLabels) {
  const auto refused = [&](const std::string& tar, const char* labels, const char* why) {
    folder_.write("t.tar", tar + end);
    const auto harness = make({"t.tar"});
    harness->set("labels", labels);
    EXPECT_REFUSED(harness->open(), Fault::data, why);
  };
  const std::string none = member("2.jpg", "");
  refused(sample("1", "cls", "7") + none, "auto", "t.tar: sample '2' has no member 'cls'");
  refused(none, "cls", "sample '2' has no member 'cls' with its labels; add it");
  refused(sample("1", "cls", "7"), "json", "sample '1' has no member 'json'");
  refused(none + sample("1", "cls", "7"), "auto",
          "sample '1' has labels, but the first sample has none; set labels to \"none\"");
  refused(sample("1", "json", R"({"item": "a"})") +
              sample("2", "json", R"({"item": "a", "category": 1})"),
          "auto", "sample '2' has a category, unlike the samples before it");
  folder_.write("t.tar", sample("1", "cls", "7") + member("1.json", "{}") + end);
  EXPECT_REFUSED(make({"t.tar"})->open(), Fault::configuration,
                 "sample '1' has labels both in 'cls' and in 'json'");
}

TEST_F(TarStage, RefusesNamesThatAreNoTars) {
  folder_.write("empty.tar", end);
  EXPECT_REFUSED(make({})->open(), Fault::data, "no image in 0 tar files; set 'tar'");
  EXPECT_REFUSED(make({"empty.tar"})->open(), Fault::data, "no image in 1 tar file, the first");
  EXPECT_REFUSED(make({"none.tar"})->open(), Fault::data, "none.tar' cannot be opened: No such");
  EXPECT_REFUSED(make({"empty.tar", "{./empty,x}.tar"})->open(), Fault::configuration,
                 "empty.tar' twice");
}

TEST_F(TarStage, TakesOtherExtensions) {
  folder_.write("t.tar", member("0.left.jpg", "pixels of 0") + member("0.right.jpg", "1") + end);
  const auto harness = make({"t.tar"});
  harness->set("extensions", Texts{".LEFT.jpg"});
  EXPECT_THAT(rows(*harness).size(), 1U);
}

}  // namespace tar_test
}  // namespace seam::stages
