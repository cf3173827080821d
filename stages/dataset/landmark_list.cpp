#include "stages/dataset/landmark_list.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <seam/error.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/in_quotes.hpp"

namespace seam::stages {
namespace {

constexpr std::size_t columns_before = 3;  // image, clothes type, variation type
constexpr std::size_t columns_each = 3;    // state, x, y

/// Which of the eight landmarks a row lists, in order.
std::span<const std::size_t> landmarks_of_type(const ListText& list, const CountedRow& row) {
  static constexpr std::array<std::size_t, 6> upper{0, 1, 2, 3, 6, 7};
  static constexpr std::array<std::size_t, 4> lower{4, 5, 6, 7};
  static constexpr std::array<std::size_t, 8> full{0, 1, 2, 3, 4, 5, 6, 7};
  const std::optional<std::int64_t> type = whole_number(row.columns[1]);
  if (type == 1) return upper;
  if (type == 2) return lower;
  if (type == 3) return full;
  fail_at(list.name, row.line,
          "clothes type " + in_quotes(row.columns[1]) +
              " is not 1 (upper-body), 2 (lower-body) or 3 (full-body)");
}

float place(const ListText& list, std::int64_t line, std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double most = 1 << 24;  // whole numbers that a float holds
  if (fault != std::errc() || end != text.data() + text.size() || !(std::abs(value) <= most)) {
    fail_at(list.name, line, in_quotes(text) + " is not a landmark position in pixels");
  }
  return static_cast<float>(value);
}

LandmarksOfImage landmarks_of(const ListText& list, const CountedRow& row) {
  const std::span<const std::size_t> numbers = landmarks_of_type(list, row);
  const std::size_t expected = columns_before + columns_each * numbers.size();
  if (row.columns.size() != expected) {
    fail_at(list.name, row.line,
            "clothes type " + std::string(row.columns[1]) + " has " +
                counted(numbers.size(), "landmark") + " of three numbers each, so " +
                std::to_string(expected) + " columns, but the row has " +
                std::to_string(row.columns.size()));
  }
  LandmarksOfImage found;
  found.states.fill(static_cast<std::int64_t>(LandmarkState::none));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t at = columns_before + columns_each * i;
    const std::optional<std::int64_t> state = whole_number(row.columns[at]);
    if (!state || *state > static_cast<std::int64_t>(LandmarkState::cut_off)) {
      fail_at(list.name, row.line,
              "the visibility " + in_quotes(row.columns[at]) + " of landmark " +
                  std::to_string(i + 1) + " is not 0 (visible), 1 (occluded) or 2 (cut off)");
    }
    const float x = place(list, row.line, row.columns[at + 1]);
    const float y = place(list, row.line, row.columns[at + 2]);
    found.states.at(numbers[i]) = *state;
    if (has_position(*state)) found.positions.at(numbers[i]) = {x, y};
  }
  return found;
}

/// The entries of a list: "image" or "item".
struct Subject {
  const ListText& list;
  std::string_view noun;
};

/// Records that an entry is listed on a line; throws if it was listed before.
void note(std::unordered_map<std::string_view, std::int64_t>& lines, const Subject& subject,
          const CountedRow& row) {
  const auto [known, is_new] = lines.try_emplace(row.columns[0], row.line);
  if (is_new) return;
  fail_at(subject.list.name, row.line,
          std::string(subject.noun) + " " + in_quotes(row.columns[0]) +
              " is listed a second time; first on line " + std::to_string(known->second));
}

[[noreturn]] void refuse_unlisted(const Subject& subject, const CountedRow& row,
                                  const std::string& partition_name) {
  fail_at(subject.list.name, row.line,
          std::string(subject.noun) + " " + in_quotes(row.columns[0]) + " is not in '" +
              partition_name +
              "'; the lists are of different releases, or the partition covers only a part of the "
              "data set: unlisted = \"ignore\" accepts that");
}

[[noreturn]] void report_missing(const Subject& subject, std::string_view name,
                                 const std::string& partition_name, std::int64_t line) {
  fail_at(partition_name, line,
          std::string(subject.noun) + " " + in_quotes(name) + " is not in '" + subject.list.name +
              "'; the lists are of different releases");
}

std::vector<std::uint8_t> labels_of(const ListText& list, const CountedRow& row,
                                    std::size_t count) {
  const std::size_t found = row.columns.size() - 1;
  if (found != count) {
    fail_at(list.name, row.line,
            counted(found, "label") + " for " + counted(count, "attribute") + " of item " +
                in_quotes(row.columns[0]));
  }
  std::vector<std::uint8_t> labels;
  labels.reserve(count);
  for (const std::string_view text : std::span(row.columns).subspan(1)) {
    if (text != "1" && text != "-1" && text != "0") {
      fail_at(list.name, row.line,
              "the label " + in_quotes(text) + " is not 1 (yes), -1 (no) or 0 (unknown)");
    }
    labels.push_back(text == "1" ? 1 : text == "-1" ? 0 : 2);
  }
  return labels;
}

}  // namespace

std::vector<LandmarksOfImage> join_landmarks(const ListText& landmarks, const InshopList& partition,
                                             const std::string& partition_name, Unlisted unlisted) {
  const Subject subject{landmarks, "image"};
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < partition.rows.size(); ++i) places[partition.rows[i].path] = i;
  std::vector<LandmarksOfImage> joined(partition.rows.size());
  std::vector<bool> found(partition.rows.size());
  std::unordered_map<std::string_view, std::int64_t> lines;
  for (const CountedRow& row :
       parse_ragged_list(landmarks, {"image_name", "clothes_type", "variation_type"})) {
    note(lines, subject, row);
    const LandmarksOfImage read = landmarks_of(landmarks, row);
    const auto known = places.find(row.columns[0]);
    if (known == places.end()) {
      if (unlisted == Unlisted::refuse) refuse_unlisted(subject, row, partition_name);
      continue;
    }
    joined[known->second] = read;
    found[known->second] = true;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) continue;
    report_missing(subject, partition.rows[i].path, partition_name, partition.rows[i].line);
  }
  return joined;
}

ItemAttributes join_attributes(const ListText& names, const ListText& items,
                               const InshopList& partition, const std::string& partition_name,
                               Unlisted unlisted) {
  const Subject subject{items, "item"};
  std::unordered_map<std::string_view, std::int64_t> first_line;
  for (const InshopRow& row : partition.rows) first_line.try_emplace(row.item, row.line);
  ItemAttributes result;
  result.count = parse_ragged_list(names, {"attribute_name"}).size();
  if (result.count == 0) fail_at(names.name, 1, "no attribute is listed");
  std::unordered_map<std::string_view, std::int64_t> lines;
  for (const CountedRow& row : parse_ragged_list(items, {"item_id", "attribute_labels"})) {
    note(lines, subject, row);
    std::vector<std::uint8_t> labels = labels_of(items, row, result.count);
    if (first_line.contains(row.columns[0])) {
      result.of_item.emplace(row.columns[0], std::move(labels));
    } else if (unlisted == Unlisted::refuse) {
      refuse_unlisted(subject, row, partition_name);
    }
  }
  for (const InshopRow& row : partition.rows) {
    if (result.of_item.contains(row.item)) continue;
    report_missing(subject, row.item, partition_name, row.line);
  }
  return result;
}

}  // namespace seam::stages
