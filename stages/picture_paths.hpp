/// The files that the rows of a batch show, whichever list names them: two lists of one data set
/// have different origins and indices for the same file.
///
///     Eval/list.txt:3     img/a.jpg  ─┐
///     Eval/other.txt:90   img/a.jpg  ─┴─► /data/inshop/img/a.jpg
#pragma once

#include <seam/description.hpp>
#include <seam/packet.hpp>
#include <set>
#include <system_error>
#include <unordered_set>

namespace seam::field {

/// The `path` of each row, or empty. For a row with a `box`, the file and the box, because a file
/// may have several: "img/a.jpg/0,0,2,2".
inline constexpr Field<std::vector<std::filesystem::path>> paths{"paths", "*[N]"};

}  // namespace seam::field

namespace seam::stages {

/// Identifies a part of an image in `paths`.
[[nodiscard]] inline std::filesystem::path boxed_path(const std::filesystem::path& file,
                                                      const std::array<float, 4>& box) {
  std::string name;
  for (const float side : box) name += (name.empty() ? "" : ",") + to_text(Value{double{side}});
  return file / name;
}

/// A path in one spelling: absolute, links followed.
[[nodiscard]] inline std::string picture_file(const std::filesystem::path& path) {
  std::error_code fault;
  const std::filesystem::path file = std::filesystem::weakly_canonical(path, fault);
  return (fault ? path.lexically_normal() : file).string();
}

/// Names a row of a batch in messages: by its origin, or "row 3".
[[nodiscard]] inline std::string row_name(const Packet& batch, std::size_t row) {
  const bool named = batch.has(field::origins) && row < batch[field::origins].size();
  return named ? batch[field::origins][row].text() : "row " + std::to_string(row);
}

/// Whether the row has an index in its list.
[[nodiscard]] inline bool has_index(const Packet& batch, std::size_t row) {
  return batch.has(field::indices) && row < batch[field::indices].size() &&
         batch[field::indices][row] >= 0;
}

/// Identifies a row of a batch by its line or index in its list; the name alone may be that of many
/// rows, such as those with boxes in one image. Empty if the list or both numbers are unknown.
[[nodiscard]] inline std::string place_in_list(const Packet& batch, std::size_t row) {
  if (!batch.has(field::origins) || row >= batch[field::origins].size()) return {};
  const Origin& origin = batch[field::origins][row];
  if (!origin.file) return {};
  const bool indexed = has_index(batch, row);
  if (!indexed && origin.line <= 0) return {};
  return origin.text() + (indexed ? "#" + std::to_string(batch[field::indices][row]) : "");
}

/// Throws seam::Error (internal) if two parts of a batch have different numbers of rows. The texts
/// are subjects with their verbs, such as "'categories' has".
inline void check_same_rows(std::string_view field, std::size_t rows, std::string_view other,
                            std::size_t other_rows) {
  if (rows == other_rows) return;
  throw Error("the fields of one batch must have the same number of rows, but " +
                  std::string(field) + " " + std::to_string(rows) + " and " + std::string(other) +
                  " " + std::to_string(other_rows),
              Fault::internal);
}

/// Returns the file of each of the batch's `rows`, as picture_file() spells it. Empty if a row has
/// none, as images in a file of many. Throws seam::Error if `paths` has a different number of rows.
[[nodiscard]] inline std::vector<std::string> picture_files(const Packet& batch, std::size_t rows) {
  std::vector<std::string> files(rows);
  if (!batch.has(field::paths)) return files;
  const std::vector<std::filesystem::path>& paths = batch[field::paths];
  check_same_rows("'paths' has", paths.size(), "the batch has", rows);
  for (std::size_t row = 0; row < rows; ++row) {
    if (!paths[row].empty()) files[row] = picture_file(paths[row]);
  }
  return files;
}

/// Adds the list files that named the pictures of a batch, for reports: what a user calls the data
/// says little about which list that was.
inline void add_lists_of(const Packet& batch, std::set<std::string>& lists) {
  if (!batch.has(field::origins)) return;
  for (const Origin& origin : batch[field::origins]) {
    if (origin.file) lists.insert(*origin.file);
  }
}

/// "'Eval/a.txt', 'Eval/b.txt'", or "unknown".
[[nodiscard]] inline std::string names_of_lists(const std::set<std::string>& lists) {
  std::string text;
  for (const std::string& list : lists) text += (text.empty() ? "'" : ", '") + list + "'";
  return text.empty() ? "unknown" : text;
}

}  // namespace seam::stages
