/// Batches with fields of random lengths, with missing fields, without rows, of different widths,
/// as from an upstream stage with bugs. Each is counted correctly or rejected by name.
#include <torch/utils.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/stages/retrieval/batches.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::retrieval_fuzz_test {

using retrieval::Ranking;
using retrieval::Rankings;
using retrieval_test::batch;
using retrieval_test::of_list;
using retrieval_test::Retrieval;
using retrieval_test::Texts;

constexpr std::int64_t classes = 3;
constexpr std::int64_t width = 4;

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  /// 0 to below - 1; not std::uniform_int_distribution, which differs between libraries.
  std::int64_t roll(std::int64_t below) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(below));
  }
  bool rarely() { return roll(12) == 0; }
  /// Mostly `count`, else some other length.
  std::int64_t near(std::int64_t count) {
    if (!rarely()) return count;
    const std::int64_t other = roll(count + 4);
    return other == count ? count + 1 : other;
  }

 private:
  std::mt19937 engine_;
};

/// A batch, and its errors with respect to these masks.
struct Thrown {
  Packet packet;
  std::string missing;                  ///< a field
  std::vector<std::string> other_rows;  ///< fields whose length differs from `items`
  std::int64_t count = 0;
  std::int64_t embedding_width = width;
};

/// Sets the field by a key without a contract, as a plugin may: the host cannot count its rows.
template <class T>
void set_uncounted(Packet& packet, const Field<T>& key, const T& value) {
  packet.set(Field<T>{key.name}, value);
}

Thrown throw_batch(Dice& dice, std::int64_t first, const Texts& masks) {
  const auto wants = [&](const char* mask) {
    return std::ranges::find(masks, mask) != masks.end();
  };
  Thrown thrown;
  thrown.count = dice.roll(6);
  const auto length = [&](const std::string& field, bool read) {
    const std::int64_t rows = read ? dice.near(thrown.count) : thrown.count;
    if (rows != thrown.count) thrown.other_rows.push_back(field);
    return rows;
  };
  const auto there = [&](const std::string& field, bool needed) {
    if (!dice.rarely()) return true;
    if (needed && thrown.missing.empty()) thrown.missing = field;
    return false;
  };
  Packet& packet = thrown.packet;
  if (there("items", true)) {
    Texts items;
    for (std::int64_t i = 0; i < thrown.count; ++i)
      items.push_back(std::string(1, static_cast<char>('a' + dice.roll(4))));
    set_uncounted(packet, field::items, items);
  }
  if (there("indices", true)) {
    std::vector<std::int64_t> indices;
    const std::int64_t rows = length("indices", true);
    for (std::int64_t i = 0; i < rows; ++i) indices.push_back(first + i);
    set_uncounted(packet, field::indices, indices);
  }
  if (there("origins", true)) {
    std::vector<Origin> origins(static_cast<std::size_t>(length("origins", true)));
    set_uncounted(packet, field::origins, origins);
  }
  if (there("categories", wants("ground_truth"))) {
    std::vector<std::int64_t> categories;
    const std::int64_t rows = length("categories", true);
    for (std::int64_t i = 0; i < rows; ++i) categories.push_back(dice.roll(classes));
    set_uncounted(packet, field::categories, categories);
  }
  if (there("embedding", wants("none"))) {
    if (dice.rarely()) thrown.embedding_width = 1 + dice.roll(6);
    const std::int64_t rows = length("embedding", wants("none"));
    set_uncounted(packet, field::embedding, torch::randn({rows, thrown.embedding_width}));
  }
  const bool capsules = wants("predicted") || wants("ground_truth");
  if (there("capsules", capsules)) {
    set_uncounted(packet, field::capsules,
                  torch::randn({length("capsules", capsules), classes, 2}));
  }
  if (there("predicted_category", wants("predicted"))) {
    const std::int64_t rows = length("predicted_category", wants("predicted"));
    set_uncounted(packet, field::predicted_category,
                  torch::randint(classes, {rows}, torch::kInt64));
  }
  return thrown;
}

/// Checks that a valid or invalid batch was treated correctly.
void expect_right(const Thrown& thrown, const std::vector<Error>& errors, std::size_t before,
                  bool other_width, const std::string& where) {
  const bool wrong = !thrown.missing.empty() || !thrown.other_rows.empty() || other_width;
  ASSERT_EQ(errors.size(), before + (wrong ? 1 : 0))
      << where << ": " << (errors.empty() ? "no error" : errors.back().full_message());
  if (!wrong) return;
  const std::string message = errors.back().full_message();
  EXPECT_THAT(message, HasSubstr("stage '")) << where;
  if (!thrown.missing.empty()) {
    EXPECT_THAT(message, HasSubstr("'")) << where;  // the first of several faults is named
  } else if (!thrown.other_rows.empty()) {
    EXPECT_TRUE(std::ranges::any_of(thrown.other_rows,
                                    [&](const std::string& field) {
                                      return message.find("'" + field + "' has ") !=
                                             std::string::npos;
                                    }))
        << where << ": " << message;
    EXPECT_THAT(message, HasSubstr("'items' has " + std::to_string(thrown.count))) << where;
  } else {
    EXPECT_THAT(message, HasSubstr("dimensions")) << where;
  }
}

TEST(RetrievalFuzz, BatchesOfRandomLengthsAreRightOrRefusedByName) {
  torch::manual_seed(1);
  std::int64_t whole = 0;
  std::int64_t evaluated = 0;
  for (std::uint32_t round = 0; round < 300; ++round) {
    const std::string where = "round " + std::to_string(round);
    Dice dice(round);
    const Texts masks = std::vector<Texts>{
        {"none"},
        {"predicted"},
        {"none", "predicted", "ground_truth"}}[static_cast<std::size_t>(dice.roll(3))];
    Retrieval stages;
    stages.masks(masks);
    stages.search.set("k", 3);
    stages.recall.set("k", std::vector<std::int64_t>{1, 3});

    std::int64_t gallery = 0;
    std::int64_t gallery_width = 0;
    for (std::int64_t b = 0; b < 3; ++b) {
      const Thrown thrown = throw_batch(dice, b * 20, masks);
      const std::size_t before = stages.index.errors().size();
      const bool other_width =
          masks[0] == "none" && gallery_width != 0 && thrown.embedding_width != gallery_width;
      stages.index.push(thrown.packet);
      expect_right(thrown, stages.index.errors(), before, other_width, where + ", gallery");
      if (stages.index.errors().size() > before) continue;
      gallery += thrown.count;
      gallery_width = thrown.embedding_width;
      ++whole;
    }
    const std::size_t before_end = stages.index.errors().size();
    stages.index.finish();
    ASSERT_EQ(stages.index.errors().size(), before_end + (gallery == 0 ? 1 : 0)) << where;
    if (gallery == 0) continue;

    std::int64_t queries = 0;
    for (std::int64_t b = 0; b < 3; ++b) {
      const Thrown thrown = throw_batch(dice, b * 20, masks);
      const std::size_t before = stages.search.errors().size();
      const bool other_width = masks[0] == "none" && thrown.embedding_width != gallery_width;
      stages.search.push(thrown.packet);
      expect_right(thrown, stages.search.errors(), before, other_width, where + ", queries");
      if (stages.search.errors().size() == before) queries += thrown.count;
    }
    stages.search.finish();
    for (Packet& packet : stages.search.take_outputs()) stages.recall.push(std::move(packet));
    stages.recall.finish();
    if (stages.recall.errors().empty()) {
      ++evaluated;
      EXPECT_THAT(stages.recall.reports().at(0).text,
                  HasSubstr("gallery of " + std::to_string(gallery) + " image"))
          << where;
      EXPECT_THAT(stages.recall.reports().at(0).text, HasSubstr(std::to_string(queries) + " quer"))
          << where;
    } else {
      EXPECT_THAT(stages.recall.errors()[0].full_message(),
                  ::testing::AnyOf(HasSubstr("no query was received"), HasSubstr("can be scored")))
          << where;
    }
  }
  EXPECT_GT(whole, 200);
  EXPECT_GT(evaluated, 50);
}

/// Changes one thing of a search's result. Returns the changed part's name.
std::string damage(Dice& dice, Rankings& rankings) {
  Ranking& ranking = rankings.by_mask.at(0);
  const auto resize = [&](auto& list, const char* name) {
    list.resize(static_cast<std::size_t>(dice.roll(static_cast<std::int64_t>(list.size()) + 5)));
    return std::string(name);
  };
  const auto any = [&](auto& list) -> auto& {
    return list[static_cast<std::size_t>(dice.roll(static_cast<std::int64_t>(list.size())))];
  };
  switch (dice.roll(15)) {
    case 0:
      return resize(rankings.item, "item");
    case 1:
      return resize(rankings.relevant, "relevant");
    case 2:
      return resize(ranking.items, "items");
    case 3:
      return resize(ranking.neighbours.rows, "rows");
    case 4:
      return resize(ranking.neighbours.distances, "distances");
    case 5:
      return resize(ranking.neighbours.tied_beyond, "tied_beyond");
    case 6:
      return resize(ranking.neighbours.tied_beyond_relevant, "tied_beyond_relevant");
    case 7:
      ranking.neighbours.k = dice.roll(5) - 1;
      return "k";
    case 8:
      ranking.neighbours.queries = dice.roll(6) - 1;
      return "queries";
    case 9:
      rankings.by_mask.push_back(ranking);
      return "by_mask";
    case 10:
      rankings.by_mask.clear();
      return "by_mask";
    case 11:
      any(ranking.neighbours.rows) = dice.roll(20) - 5;
      return "a row";
    case 12:
      any(ranking.neighbours.distances) = std::numeric_limits<float>::quiet_NaN();
      return "a distance";
    case 13:
      any(ranking.items) = dice.roll(20) - 5;
      return "an item of a neighbour";
    default:
      any(rankings.relevant) = -1;
      return "a count";
  }
}

TEST(RetrievalFuzz, DamagedRankingsAreCountedOrRefused) {
  Retrieval stages;
  stages.search.set("k", 2);
  stages.index.push(batch(0, {"a", "b", "a", "c"}, torch::eye(4))).finish();
  stages.search
      .push(of_list("queries.txt", batch(0, {"a", "b", "c"}, torch::eye(4).slice(0, 0, 3))))
      .finish();
  const Packet whole = stages.search.outputs().at(0);
  std::int64_t refused = 0;
  for (std::uint32_t round = 0; round < 500; ++round) {
    Dice dice(round);
    Packet packet = whole;
    Rankings rankings = whole.get(field::rankings);
    const std::string what = damage(dice, rankings);
    set_uncounted(packet, field::rankings, rankings);
    if (dice.rarely()) {
      set_uncounted(packet, field::categories,
                    std::vector<std::int64_t>(static_cast<std::size_t>(dice.roll(6))));
    }
    seam::testing::Harness recall("recall", std::make_unique<Recall>());
    recall.set("k", 2).push(packet).finish();
    if (recall.errors().empty()) {
      for (const auto& [name, values] : recall.metrics()) {
        for (const double value : values) {
          EXPECT_TRUE(value >= 0 && value <= 1) << name << ", " << what << ", round " << round;
        }
      }
    } else {
      ++refused;
    }
    // The check of a provider's contract gives the same result.
    const std::string problem = FieldTraits<Rankings>::violation(rankings, "*[N,2+]");
    if (recall.errors().empty()) {
      EXPECT_EQ(problem, "") << what << ", round " << round;
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace seam::stages::retrieval_fuzz_test
