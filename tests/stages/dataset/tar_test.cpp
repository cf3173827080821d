#include "stages/dataset/tar.hpp"

#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"
#include "tests/stages/dataset/tars.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::tar_test {

using tars::end;
using tars::member;

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
  const auto harness = make({"t-1.tar", "t-0.tar"});
  harness->set("item", "json:item").set("category", "json:category");
  EXPECT_THAT(rows(*harness),
              ElementsAre(Row{"t-1.tar", "0.jpg", "a", 0, 0}, Row{"t-0.tar", "0.jpg", "a", 1, 1},
                          Row{"t-0.tar", "1.jpg", "b", 1, 2}));
  EXPECT_THAT(names_of(*harness), ElementsAre("boots", "hats"));
  const auto named = make({"t-{0..1}.tar"});
  named->set("item", "json:sku").set("category", "json:item");
  EXPECT_THAT(rows(*named),
              ElementsAre(Row{"t-0.tar", "0.jpg", "x", 0, 0}, Row{"t-0.tar", "1.jpg", "x", 1, 1},
                          Row{"t-1.tar", "0.jpg", "y", 0, 2}));
}

TEST_F(TarStage, ReadsCls) {
  folder_.write("t.tar", sample("0", "cls", "07\n") + sample("1", "cls", "3") + end);
  const auto harness = make({"t.tar"});
  harness->set("item", "cls").set("category", "cls");
  EXPECT_THAT(rows(*harness),
              ElementsAre(Row{"t.tar", "0.jpg", "7", 7, 0}, Row{"t.tar", "1.jpg", "3", 3, 1}));
  EXPECT_THAT(names_of(*harness), IsEmpty());
}

TEST_F(TarStage, TakesEachPictureForAnItemByDefault) {
  folder_.write("t.tar", sample("0", "cls", "7") + end);
  const std::string path = (folder_.path() / "t.tar/0.jpg").string();
  EXPECT_THAT(rows(*make({"t.tar"})), ElementsAre(Row{"t.tar", "0.jpg", path, 0, 0}));
}

// Expected names are those of bash.
TEST_F(TarStage, CountsRangesInBraces) {
  const auto names = [&](const Texts& tars) {
    const auto harness = make(tars);
    Texts found;
    for (const Row& row : rows(*harness)) found.push_back(std::get<0>(row));
    return found;
  };
  for (const char* name :
       {"t-08", "t-09", "t-10", "8", "9", "10", "08", "a1-0", "a1-1", "a2-0", "a2-1"}) {
    folder_.write(name + std::string(".tar"), sample("0", "cls", "7") + end);
  }
  EXPECT_THAT(names({"t-{08..10}.tar"}), ElementsAre("t-08.tar", "t-09.tar", "t-10.tar"));
  EXPECT_THAT(names({"{8..10}.tar"}), ElementsAre("8.tar", "9.tar", "10.tar"));
  EXPECT_THAT(names({"{8..08}.tar"}), ElementsAre("08.tar"));
  EXPECT_THAT(names({"a{1..2}-{0..1}.tar", "8.tar"}),
              ElementsAre("a1-0.tar", "a1-1.tar", "a2-0.tar", "a2-1.tar", "8.tar"));
  for (const char* name : {"{a,b}.tar", "{}", "a{1..2", "a}1..2{", "{1..}", "{..2}", "{a..3}",
                           "{1..b}", "{2..1}", "{-1..1}", "{{1..2}}", "8.tar}", "{1..2}{"}) {
    EXPECT_REFUSED(make({name})->open(), Fault::configuration,
                   "has a brace that is not part of a rising range");
  }
  for (const char* name : {"{0..9223372036854775807}", "{1..2000}-{1..2000}"}) {
    EXPECT_REFUSED(make({name})->open(), Fault::configuration, "more than 1,000,000");
  }
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
  EXPECT_EQ(test::text_of_file(folder_.path() / "calls"), "\n");
  EXPECT_REFUSED(make({"pipe:false"})->open(), Fault::data, "'pipe:false' failed with exit code 1");
  EXPECT_REFUSED(make({"pipe:head -c 520 " + (folder_.path() / "t.tar").string()})->open(),
                 Fault::data, "'0.jpg' has 11 bytes, but the file ends");
}

TEST_F(TarStage, LeavesTheBracesOfCommandsToTheShell) {
  folder_.write("t.tar", sample("0", "cls", "7") + end);
  const std::string tar = (folder_.path() / "t.tar").string();
  EXPECT_THAT(rows(*make({"pipe:{ cat " + tar + "; }; : {0..1}"})), SizeIs(1));
}

TEST_F(TarStage, RefusesLabelsThatDoNotFit) {
  folder_.write("t.tar", sample("1", "cls", "7") + end);
  folder_.write("u.tar", sample("2", "cls", "tench") + end);
  const auto harness = make({"t.tar", "u.tar"});
  harness->set("category", "cls");
  EXPECT_REFUSED(harness->open(), Fault::data,
                 "u.tar/2.jpg has the category 'tench', and " +
                     (folder_.path() / "t.tar/1.jpg").string() + " has '7'");
  for (const char* text : {"", "json", "json:", "auto"}) {
    const auto other = make({"t.tar"});
    other->set("item", text);
    EXPECT_REFUSED(other->open(), Fault::configuration,
                   "parameter 'item' is '" + std::string(text) +
                       "'; expected \"path\", \"cls\" or \"json:FIELD\"");
  }
  const auto path = make({"t.tar"});
  path->set("category", "path");
  EXPECT_REFUSED(path->open(), Fault::configuration, "parameter 'category' is 'path'");
}

TEST_F(TarStage, RefusesNamesThatAreNoTars) {
  folder_.write("t.tar", sample("1", "cls", "7") + end);
  folder_.write("empty.tar", end);
  EXPECT_REFUSED(make({})->open(), Fault::configuration, "parameter 'tar' names no tar");
  EXPECT_REFUSED(make({"t.tar", "empty.tar"})->open(), Fault::data,
                 "no image in '" + (folder_.path() / "empty.tar").string());
  EXPECT_REFUSED(make({"none.tar"})->open(), Fault::data, "none.tar' cannot be opened: No such");
  EXPECT_REFUSED(make({"t.tar", "./t.tar"})->open(), Fault::configuration, "t.tar' twice");
}

}  // namespace seam::stages::tar_test
