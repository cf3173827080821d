#include "stages/dataset/wardrobe.hpp"

#include <algorithm>
#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::wardrobe_test {

std::unique_ptr<testing::Harness> make(const std::filesystem::path& root, const char* split) {
  auto harness = std::make_unique<testing::Harness>("items", std::make_unique<Wardrobe>());
  harness->set("root", root.string()).set("split", split).set("items", 4).set("colours", 2);
  harness->set("views", 1).set("size", 32);
  return harness;
}

const auto conformance = testing::conformance<Wardrobe>({
    .parameters = {{"items", std::int64_t{2}},
                   {"colours", std::int64_t{2}},
                   {"views", std::int64_t{1}},
                   {"size", std::int64_t{32}}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder();
          harness.set("root", (folder->path() / "wardrobe").string());
          return folder;
        },
});

TEST(WardrobeStage, DrawsOnFirstUseAndServes) {
  const TemporaryFolder folder;
  const auto train = make(folder.path() / "w", "train");
  train->produce();
  EXPECT_EQ(train->outputs().size(), 4U);
  const std::vector<std::string>& names = names_of(*train);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const Packet& packet : train->outputs()) {
    const std::string& name = names.at(static_cast<std::size_t>(packet.get(field::category)));
    // "MEN_Denim" of img/MEN/Denim/...
    EXPECT_THAT(packet.get(field::path).string(), HasSubstr("/" + name.substr(name.find('_') + 1)));
    EXPECT_TRUE(std::filesystem::is_regular_file(packet.get(field::path)));
  }
  EXPECT_THAT(train->log(), has_line("drawing a wardrobe of 8 images"));

  const auto query = make(folder.path() / "w", "query");
  const auto gallery = make(folder.path() / "w", "gallery");
  query->produce();
  gallery->produce();
  std::set<std::string> asked;
  std::set<std::string> stored;
  for (const Packet& packet : query->outputs()) asked.insert(packet.get(field::item));
  for (const Packet& packet : gallery->outputs()) stored.insert(packet.get(field::item));
  EXPECT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked, stored);
}

TEST(WardrobeStage, StopsDrawingWhenAsked) {
  const TemporaryFolder folder;
  const auto train = make(folder.path() / "w", "train");
  train->services().stop = true;
  EXPECT_REFUSED(train->open(), Fault::cancelled, "");
  const auto again = make(folder.path() / "w", "train");
  again->produce();
  EXPECT_EQ(again->outputs().size(), 4U);
}

}  // namespace seam::stages::wardrobe_test
