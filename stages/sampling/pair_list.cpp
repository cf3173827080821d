#include "stages/sampling/pair_list.hpp"

#include <algorithm>
#include <map>
#include <seam/error.hpp>
#include <unordered_map>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/counted_list.hpp"
#include "stages/dataset/csv.hpp"
#include "stages/export/csv.hpp"

namespace seam::stages {
namespace {

class PairListParser {
 public:
  PairListParser(std::string_view text, const std::string& file,
                 std::span<const ListedImage> images)
      : reader_(text, file, ','), images_(images) {
    for (std::size_t row = 0; row < images.size(); ++row) {
      if (row_of_name_.emplace(images[row].name, row).second) continue;
      throw Error("two images of the data set have the name " + in_quotes(images[row].name) +
                  ", so a list of pairs cannot distinguish them");
    }
  }

  std::vector<Pair> parse() {
    read_head();
    while (reader_.next(row_)) read_row();
    const auto same =
        std::count_if(pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.same; });
    if (same == 0 || same == static_cast<std::ptrdiff_t>(pairs_.size())) {
      throw Error(reader_.name() + ": " + counted(pairs_.size(), "pair") + ", " +
                  (same == 0 ? "none" : "all") + " of one item; both kinds are needed");
    }
    return std::move(pairs_);
  }

 private:
  static constexpr std::array<std::string_view, 3> columns{"same", "first", "second"};

  [[noreturn]] void fail(std::int64_t line, const std::string& what) const {
    fail_at(reader_.name(), line, what);
  }

  void read_head() {
    if (!reader_.next(row_)) {
      throw Error(reader_.name() +
                  ": the file is empty; expected the columns same, first and second");
    }
    width_ = row_.cells.size();
    for (std::size_t wanted = 0; wanted < columns.size(); ++wanted) {
      const auto found = std::find(row_.cells.begin(), row_.cells.end(), columns[wanted]);
      if (found == row_.cells.end()) {
        fail(row_.line, "there is no column '" + std::string(columns[wanted]) +
                            "'; a list of pairs has same, first and second");
      }
      if (std::find(found + 1, row_.cells.end(), columns[wanted]) != row_.cells.end()) {
        fail(row_.line, "column '" + std::string(columns[wanted]) + "' occurs twice");
      }
      at_[wanted] = static_cast<std::size_t>(found - row_.cells.begin());
    }
  }

  [[nodiscard]] std::int64_t image(std::size_t column) const {
    const std::string& name = row_.cells[at_[column]];
    const auto known = row_of_name_.find(name);
    if (known == row_of_name_.end()) {
      fail(row_.line, "the data set has no image " + in_quotes(name) + "; its names look like " +
                          in_quotes(images_.front().name));
    }
    return static_cast<std::int64_t>(known->second);
  }

  void read_row() {
    if (row_.cells.size() != width_) {
      fail(row_.line, counted(row_.cells.size(), "cell") + ", but the first line has " +
                          std::to_string(width_));
    }
    const std::string& same = row_.cells[at_[0]];
    if (same != "1" && same != "0") {
      fail(row_.line,
           "'same' is " + in_quotes(same) + "; accepted are 1 (one item) and 0 (two items)");
    }
    const Pair pair{image(1), image(2), same == "1"};
    if (pair.first == pair.second) fail(row_.line, "the pair has the same image twice");
    const std::string& first = images_[static_cast<std::size_t>(pair.first)].item;
    const std::string& second = images_[static_cast<std::size_t>(pair.second)].item;
    if (pair.same != (first == second)) {
      fail(row_.line, "'same' is " + same + ", but the images are of " + in_quotes(first) +
                          " and " + in_quotes(second));
    }
    const auto [known, fresh] =
        line_of_pair_.try_emplace(std::minmax(pair.first, pair.second), row_.line);
    if (!fresh) fail(row_.line, "the pair is already on line " + std::to_string(known->second));
    pairs_.push_back(pair);
  }

  CsvReader reader_;
  std::span<const ListedImage> images_;
  std::unordered_map<std::string_view, std::size_t> row_of_name_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> line_of_pair_;
  std::array<std::size_t, columns.size()> at_{};
  std::size_t width_ = 0;
  CsvRow row_;
  std::vector<Pair> pairs_;
};

}  // namespace

std::string pair_list_text(std::span<const Pair> pairs, std::span<const ListedImage> images) {
  std::string text = csv_line({"pair", "same", "first", "second", "first_item", "second_item"});
  for (std::size_t number = 0; number < pairs.size(); ++number) {
    const ListedImage& first = images[static_cast<std::size_t>(pairs[number].first)];
    const ListedImage& second = images[static_cast<std::size_t>(pairs[number].second)];
    text += csv_line({std::to_string(number), pairs[number].same ? "1" : "0", first.name,
                      second.name, first.item, second.item});
  }
  return text;
}

std::vector<Pair> parse_pair_list(std::string_view text, const std::string& file,
                                  std::span<const ListedImage> images) {
  if (images.empty()) throw Error("no image was received, so there is nothing to pair");
  return PairListParser(text, file, images).parse();
}

}  // namespace seam::stages
