#include "stages/report/duplicates.hpp"

#include <bit>
#include <fstream>
#include <seam/conformance.hpp>

#include "stages/image/encode_jpeg.hpp"
#include "stages/report/contact_sheet.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::duplicates_test {

using seam::testing::Harness;
using Json = nlohmann::ordered_json;

/// An image that is unique for its seed; `brighter` by some levels.
Image picture(std::uint64_t seed, int brighter = 0) {
  constexpr int side = 36;
  constexpr int block = 4;
  Image image(side, side, 3);
  Random random(seed, 0);
  std::vector<int> levels;
  for (int i = 0; i < side / block * (side / block) * 3; ++i) {
    levels.push_back(static_cast<int>(random.index(200)));
  }
  constexpr std::size_t row = std::size_t{side} * 3;
  for (std::size_t i = 0; i < row * side; ++i) {
    const std::size_t y = i / row / block;
    const std::size_t x = i / 3 % side / block;
    const int level = levels.at((y * (side / block) + x) * 3 + i % 3);
    image.data()[i] = static_cast<std::uint8_t>(level + brighter);
  }
  return image;
}

Packet packet(const std::string& name, const std::string& item, const Image& image,
              const std::filesystem::path& file = {}) {
  Packet packet;
  packet.set_origin({std::make_shared<const std::string>("list.txt"), 7, name});
  packet.set(field::image, image);
  packet.set(field::item, item);
  if (!file.empty()) packet.set(field::path, file);
  return packet;
}

/// Writes a picture as a JPEG file.
std::filesystem::path write(const test::TemporaryFolder& folder, const std::string& name,
                            const Image& image) {
  const auto bytes = encode_jpeg(image);
  return folder.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

const auto conformance = seam::testing::conformance<DuplicatePictures>({
    .parameters = {{"within", true}},
    .packets =
        [](Harness&) {
          static const test::TemporaryFolder folder;
          static const auto a = write(folder, "a.jpg", picture(1));
          static const auto b = write(folder, "b.jpg", picture(1));
          return std::vector{packet("a.jpg", "shirt", picture(1), a),
                             packet("b.jpg", "shirt", picture(1), b),
                             packet("c.jpg", "skirt", picture(2))};
        },
    .refused = {{{"near_bits", std::int64_t{17}}}, {{"on_identical", std::string("ignore")}}},
});

class DuplicatesTest : public ::testing::Test {
 protected:
  static void flow(Harness& harness, const std::string& name, const std::vector<Packet>& packets) {
    harness.flow(name).push_all(packets).finish();
  }
  void flow(const std::string& name, const std::vector<Packet>& packets) {
    flow(harness_, name, packets);
  }
  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const auto& line : harness_.log()) {
      if (line.level == LogLevel::warning) texts.push_back(line.text);
    }
    return texts;
  }

  Harness harness_{"twice", std::make_unique<DuplicatePictures>()};
};

TEST_F(DuplicatesTest, ComparesAFlowWithThoseBeforeIt) {
  flow("training", {packet("a.jpg", "shirt", picture(1)), packet("b.jpg", "skirt", picture(2)),
                    packet("c.jpg", "dress", picture(3))});
  EXPECT_EQ(harness_.metric("pictures"), 3);
  EXPECT_FALSE(harness_.metrics().contains("identical")) << "nothing was compared";
  EXPECT_THAT(harness_.reports(), IsEmpty());
  EXPECT_THAT(harness_.log().back().text, HasSubstr("they are compared when the next flow runs"));

  flow("queries", {packet("q.jpg", "shirt", picture(1)), packet("r.jpg", "skirt", picture(4)),
                   packet("s.jpg", "coat", picture(3, 2))});
  EXPECT_EQ(harness_.metric("identical"), 1);
  EXPECT_EQ(harness_.metric("identical.training"), 1);
  EXPECT_EQ(harness_.metric("near"), 1);

  flow("gallery", {packet("g.jpg", "coat", picture(3)), packet("h.jpg", "skirt", picture(4)),
                   packet("i.jpg", "hat", picture(5))});
  EXPECT_EQ(harness_.metric("pictures"), 3);
  EXPECT_EQ(harness_.metric("identical"), 2);
  EXPECT_EQ(harness_.metric("identical.training"), 1);
  EXPECT_EQ(harness_.metric("identical.queries"), 1);
  EXPECT_EQ(harness_.metric("near"), 0) << "counted as identical already";
  EXPECT_EQ(harness_.metric("near.queries"), 1);
  ASSERT_THAT(harness_.reports(), SizeIs(2));
  EXPECT_THAT(harness_.reports()[1].text,
              AllOf(HasSubstr("| `training` | 3 | 1 | 0 | 1 | 0 |"),
                    HasSubstr("| `queries` | 3 | 1 | 1 | 1 | 1 |"),
                    HasSubstr("| all | 6 | 2 | 0 | 2 | 1 |"), HasSubstr("3 pairs"),
                    HasSubstr("| near, 2.00 | g.jpg (line ")));
}

TEST_F(DuplicatesTest, WarnsOfIdenticalPictures) {
  flow("training", {packet("a.jpg", "shirt", picture(1)), packet("b.jpg", "shirt", picture(2))});
  flow("queries", {packet("n.jpg", "coat", picture(1, 1))});
  EXPECT_THAT(warnings(), IsEmpty()) << "near duplicates are only in the report";
  flow("gallery", {packet("g.jpg", "coat", picture(2))});
  ASSERT_THAT(warnings(), SizeIs(1));
  EXPECT_THAT(warnings().front(),
              AllOf(HasSubstr("1 of 1 image of flow 'gallery'"), HasSubstr("'training' (1)"),
                    HasSubstr("(g.jpg)"), HasSubstr("(b.jpg)")));
}

TEST_F(DuplicatesTest, RefusesIdenticalPicturesIfAskedTo) {
  harness_.set("on_identical", "refuse");
  flow("training", {packet("a.jpg", "shirt", picture(1))});
  flow("queries", {packet("n.jpg", "coat", picture(1, 1))});
  EXPECT_THAT(harness_.errors(), IsEmpty());
  flow("gallery", {packet("g.jpg", "shirt", picture(1))});
  ASSERT_THAT(harness_.errors(), SizeIs(1));
  EXPECT_EQ(harness_.errors().front().fault(), Fault::data);
  EXPECT_THAT(harness_.errors().front().what(),
              AllOf(HasSubstr("(g.jpg)"), HasSubstr("(a.jpg)"), HasSubstr("keep each image")));
  EXPECT_THAT(harness_.reports(), SizeIs(2)) << "of both comparisons";
}

TEST_F(DuplicatesTest, TellsFilesFromCopiesAndItemsApart) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("a.jpg", "not read");
  const auto copy = folder.write("copies/a.jpg", "not read");
  flow("training", {packet("a.jpg", "shirt", picture(1), file)});
  flow("gallery",
       {packet("copies/../a.jpg", "shirt", picture(1), folder.path() / "copies/../a.jpg"),
        packet("copies/a.jpg", "skirt", picture(1), copy),
        packet("without|item.jpg", "", picture(1))});
  const std::string text = harness_.reports().back().text;
  EXPECT_THAT(text, HasSubstr("| same file | copies/../a.jpg"));
  EXPECT_THAT(text, HasSubstr("| same |\n"));
  EXPECT_THAT(text, HasSubstr("| identical | copies/a.jpg"));
  EXPECT_THAT(text, HasSubstr("| different |\n"));
  EXPECT_THAT(text, HasSubstr("without\\|item.jpg"));
  EXPECT_THAT(text, HasSubstr("| unknown |\n"));
}

TEST_F(DuplicatesTest, ComparesTheFlowWithItselfIfAskedTo) {
  const std::vector<Packet> packets{packet("a.jpg", "x", picture(1)),
                                    packet("b.jpg", "y", picture(2)),
                                    packet("c.jpg", "x", picture(1))};
  flow("list", packets);
  EXPECT_FALSE(harness_.metrics().contains("identical"));
  Harness within("twice", std::make_unique<DuplicatePictures>());
  within.set("within", true);
  flow(within, "list", packets);
  EXPECT_EQ(within.metric("identical"), 2) << "both of the pair";
  EXPECT_THAT(within.reports().front().text,
              AllOf(HasSubstr("| each other | 3 | 2 | 0 | 1 | 0 |"), HasSubstr("1 pair,")));
}

TEST_F(DuplicatesTest, AFlowThatRunsAgainReplacesWhatItHad) {
  flow("training", {packet("a.jpg", "x", picture(1))});
  flow("queries", {packet("b.jpg", "x", picture(2))});
  flow("training", {packet("c.jpg", "x", picture(2))});
  EXPECT_EQ(harness_.metric("identical.queries"), 1);
  flow("queries", {packet("d.jpg", "x", picture(1))});
  EXPECT_EQ(harness_.metric("identical"), 0);
}

TEST_F(DuplicatesTest, AResumedRunKnowsTheFlowsBefore) {
  flow("training", {packet("a.jpg", "x", picture(1)), packet("b.jpg", "x", picture(2))});
  const Archive saved = harness_.runner().save();
  const std::vector<Packet> queries{packet("c.jpg", "x", picture(2)),
                                    packet("d.jpg", "x", picture(1, 2))};
  flow("queries", queries);

  Harness resumed("twice", std::make_unique<DuplicatePictures>());
  resumed.open().runner().load(saved);
  flow(resumed, "queries", queries);
  EXPECT_EQ(resumed.metric("identical.training"), 1);
  EXPECT_EQ(resumed.metric("near.training"), 1);
  EXPECT_EQ(resumed.reports().back().text, harness_.reports().back().text);

  const std::string text = saved.text("flows");
  Archive damaged;
  damaged.put("flows", std::string_view(text).substr(0, text.size() / 2));
  EXPECT_REFUSED(resumed.runner().load(damaged), Fault::data, "the saved images are damaged");
}

TEST_F(DuplicatesTest, RefusesAFlowWithoutPictures) {
  flow("training", {packet("a.jpg", "x", picture(1))});
  harness_.flow("queries").open().finish();
  EXPECT_THAT(only_error(harness_).what(), HasSubstr("no image was received in flow 'queries'"));
}

TEST_F(DuplicatesTest, ListsTheNearestPairsOnly) {
  harness_.set("rows", 2);
  flow("training", {packet("a.jpg", "x", picture(1))});
  flow("gallery", {packet("far.jpg", "x", picture(1, 3)), packet("near.jpg", "x", picture(1, 1)),
                   packet("same.jpg", "x", picture(1))});
  EXPECT_THAT(harness_.reports().back().text,
              AllOf(HasSubstr("The nearest 2 of 3 pairs"), HasSubstr("same.jpg"),
                    HasSubstr("near.jpg"), Not(HasSubstr("far.jpg"))));
}

TEST_F(DuplicatesTest, DrawsPairsSideBySide) {
  const test::TemporaryFolder run;
  const auto file = write(run, "a.jpg", picture(1));
  harness_.run_directory(run.path()).set("size", 64);
  flow("training", {packet("a.jpg", "x", picture(1), file)});
  EXPECT_FALSE(std::filesystem::exists(run.path() / "pictures/twice/epoch-0000.json"));
  flow("queries", {packet("b.jpg", "x", picture(1), file)});
  flow("gallery", {packet("c.jpg", "x", picture(1), run.path() / "gone.jpg")});
  std::ifstream stream(run.path() / "pictures/twice/epoch-0000.json");
  const Json set = Json::parse(stream);
  EXPECT_EQ(set.at("kind"), "duplicates");
  ASSERT_THAT(set.at("sheets"), SizeIs(2)) << "one per flow";
  const auto sheet = [&](int at) {
    const std::string name = set.at("sheets").at(static_cast<std::size_t>(at)).at("file");
    return read_thumbnail(run.path() / "pictures/twice" / name, 1000);
  };
  EXPECT_EQ(sheet(0).width(), 2 * (64 + 8));
  EXPECT_EQ(sheet(1).width(), 4 * (64 + 8)) << "with that of training and that of queries";
}

// The search against a loop over all pairs that computes everything by its definition.

HashedFlow hashed(const std::string& name, int count, std::uint64_t seed) {
  HashedFlow flow{name, {}};
  Random random(seed, 1);
  for (int i = 0; i < count; ++i) {
    const Image image = picture(random.index(12), static_cast<int>(random.index(6)));
    flow.pictures.push_back({hash_of(image), {}, {}, {}});
  }
  return flow;
}

TEST(FindDuplicates, AgreesWithTheirDefinition) {
  const HashedFlow flow = hashed("flow", 40, 1);
  const HashedFlow before = hashed("before", 30, 2);
  const DuplicateRule rule{4, 2.5, 1000};
  const Duplicates found = find_duplicates(flow, {&before, &flow}, rule, [] { return false; });
  for (std::size_t at = 0; at < 2; ++at) {
    const HashedFlow& other = at == 0 ? before : flow;
    std::int64_t identical_pairs = 0;
    std::int64_t near_pairs = 0;
    std::int64_t identical = 0;
    std::int64_t near = 0;
    for (std::size_t i = 0; i < flow.pictures.size(); ++i) {
      std::int64_t same = 0;
      std::int64_t similar = 0;
      for (std::size_t j = 0; j < other.pictures.size(); ++j) {
        if (at == 1 && i == j) continue;
        const auto& a = flow.pictures[i].hash;
        const auto& b = other.pictures[j].hash;
        if (a.pixels == b.pixels) {
          ++same;
        } else if (std::popcount(a.differences ^ b.differences) <= 4 &&
                   difference_of(a.small, b.small) <= 2.5) {
          ++similar;
        }
      }
      identical_pairs += same;
      near_pairs += similar;
      identical += same > 0 ? 1 : 0;
      near += same == 0 && similar > 0 ? 1 : 0;
    }
    const std::int64_t twice = at == 1 ? 2 : 1;  // each pair was seen from both sides
    EXPECT_GT(near_pairs, 0);
    EXPECT_GT(identical_pairs, 0);
    EXPECT_EQ(found.by_flow[at].identical_pairs, identical_pairs / twice);
    EXPECT_EQ(found.by_flow[at].near_pairs, near_pairs / twice);
    EXPECT_EQ(found.by_flow[at].identical, identical);
    EXPECT_EQ(found.by_flow[at].near, near);
  }
  EXPECT_EQ(static_cast<std::int64_t>(found.pairs.size()),
            found.all.identical_pairs + found.all.near_pairs);
}

TEST(FindDuplicates, KeepsTheNearestPairsWhateverTheirNumber) {
  const HashedFlow flow = hashed("flow", 40, 3);
  const HashedFlow before = hashed("before", 40, 4);
  const auto never = [] { return false; };
  const Duplicates all = find_duplicates(flow, {&before}, {16, 10, 100000}, never);
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}, std::size_t{30}}) {
    const Duplicates some = find_duplicates(flow, {&before}, {16, 10, most}, never);
    ASSERT_EQ(some.pairs.size(), most);
    for (std::size_t i = 0; i < most; ++i) {
      EXPECT_EQ(some.pairs[i].row, all.pairs[i].row);
      EXPECT_EQ(some.pairs[i].other, all.pairs[i].other);
    }
    EXPECT_EQ(some.all.near_pairs, all.all.near_pairs);
  }
}

TEST(FindDuplicates, StopsWhenAskedTo) {
  const HashedFlow flow = hashed("flow", 3, 1);
  EXPECT_REFUSED(static_cast<void>(find_duplicates(flow, {&flow}, {4, 4, 1}, [] { return true; })),
                 Fault::cancelled, "stopped while images were compared");
}

}  // namespace seam::stages::duplicates_test
