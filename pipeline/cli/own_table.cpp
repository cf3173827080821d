#include "pipeline/cli/own_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "pipeline/run/files.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/nearest.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

using Cells = std::vector<std::string>;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw Error("'" + file.string() + "' " + what, Fault::configuration);
}

void trim(std::string& cell) {
  constexpr const char* blanks = " \t";
  cell.erase(0, std::min(cell.find_first_not_of(blanks), cell.size()));
  cell.erase(cell.find_last_not_of(blanks) + 1);
}

/// Parses CSV (RFC 4180), without blanks around cells, and skips empty lines. The reader of the run
/// checks the table; this one only finds columns and counts.
std::vector<Cells> rows_of(const std::string& text, char separator) {
  std::vector<Cells> rows;
  Cells row(1);
  bool quoted = false;
  const auto end_row = [&] {
    if (row.size() > 1 || !row.front().empty()) {
      std::ranges::for_each(row, trim);
      rows.push_back(row);
    }
    row.assign(1, {});
  };
  for (std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const bool doubled = quoted && at + 1 < text.size() && text[at + 1] == '"';
      if (doubled)
        row.back() += text[at++];
      else
        quoted = !quoted;
    } else if (!quoted && c == separator) {
      row.emplace_back();
    } else if (!quoted && c == '\n') {
      end_row();
    } else if (quoted || c != '\r') {
      row.back() += c;
    }
  }
  end_row();
  return rows;
}

char separator_of(const std::string& text) {
  const std::string head = text.substr(0, text.find('\n'));
  for (const char separator : {',', ';', '\t'}) {
    if (head.find(separator) != std::string::npos) return separator;
  }
  return ',';
}

std::optional<std::size_t> place_of(const Cells& head, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = std::ranges::find(head, name);
    if (found != head.end()) return found - head.begin();
  }
  return std::nullopt;
}

std::size_t column_of(const std::filesystem::path& file, const Cells& head, const std::string& what,
                      const std::vector<std::string>& names) {
  if (const auto place = place_of(head, names)) return *place;
  refuse(file, fmt::format("has no column for {} (one of {}); its columns are {}", what,
                           enumerated(names), enumerated(head)));
}

/// Number of images per item of a split.
using Split = std::map<std::string, std::int64_t>;

/// How many rows of a split have the flags `is_query`, `is_gallery` and both.
struct Flagged {
  std::int64_t query = 0;
  std::int64_t gallery = 0;
  std::int64_t both = 0;
};

/// As dataset.table, which rejects other texts.
bool is_yes(const std::string& cell) {
  return cell == "True" || cell == "true" || cell == "TRUE" || cell == "1" || cell == "1.0";
}

/// Assigns the splits to training, queries and gallery by their usual names, and by the flags in
/// the evaluated split.
void assign_splits(const std::filesystem::path& file, const std::map<std::string, Split>& splits,
                   std::map<std::string, Flagged>& flags, OwnTable& table) {
  std::vector<std::string> names;
  for (const auto& [name, items] : splits) names.push_back(name);
  const auto first = [&](const std::vector<std::string>& usual) {
    const auto found =
        std::ranges::find_if(usual, [&](const auto& name) { return splits.contains(name); });
    return found == usual.end() ? std::string() : *found;
  };
  table.train = first({"train"});
  table.query = first({"query", "validation", "val", "test"});
  table.gallery = table.query == "query" ? first({"gallery"}) : table.query;
  if (table.train.empty() || table.query.empty() || table.gallery.empty()) {
    refuse(file, "has the splits " + enumerated(names) +
                     "; accepted are train with query and gallery, or train with validation, val "
                     "or test; without a column 'split', a fifth of the items is held out");
  }
  table.leave_one_out = table.query == table.gallery;
  const Flagged& flagged = flags[table.query];
  if (!table.leave_one_out || flagged.query + flagged.gallery == 0) return;
  if (flagged.query == 0 || flagged.gallery == 0) {
    refuse(file, fmt::format("has no row of split '{}' whose '{}' is true; set it, or remove both "
                             "flags to search for each image among the others",
                             table.query, flagged.query == 0 ? "is_query" : "is_gallery"));
  }
  table.gallery += "/gallery";
  table.query += "/query";
  table.leave_one_out = flagged.both > 0;
}

}  // namespace

OwnTable read_own_table(const std::filesystem::path& file) {
  const std::string text = read_text_file(file);
  OwnTable table;
  table.separator = separator_of(text);
  const std::vector<Cells> rows = rows_of(text, table.separator);
  if (rows.size() < 2) refuse(file, "has no rows after the line with its column names");
  const Cells& head = rows.front();
  const std::size_t path = column_of(file, head, "files", {"path", "file"});
  const std::size_t item = column_of(file, head, "items", {"item", "label"});
  const auto split = place_of(head, {"split"});
  const auto is_query = place_of(head, {"is_query"});
  const auto is_gallery = place_of(head, {"is_gallery"});
  table.path_column = head[path];
  table.item_column = head[item];
  std::map<std::string, Split> splits;
  std::map<std::string, Flagged> flags;
  std::map<std::string, std::size_t> row_of_path;
  for (std::size_t at = 1; at < rows.size(); ++at) {
    const Cells& row = rows[at];
    if (row.size() != head.size()) {
      refuse(file, fmt::format("has {} cells in row {}, but {} columns", row.size(), at + 1,
                               head.size()));
    }
    const auto [first, is_new] = row_of_path.emplace(row[path], at + 1);
    if (!is_new) {
      refuse(file, fmt::format("has the file '{}' in rows {} and {}; remove one", row[path],
                               first->second, at + 1));
    }
    const std::string& of_split = split ? row[*split] : table.train;
    ++splits[of_split][row[item]];
    if (!is_query || !is_gallery) continue;
    const bool query = is_yes(row[*is_query]);
    const bool gallery = is_yes(row[*is_gallery]);
    flags[of_split].query += query ? 1 : 0;
    flags[of_split].gallery += gallery ? 1 : 0;
    flags[of_split].both += query && gallery ? 1 : 0;
  }
  table.leave_one_out = true;
  if (split) assign_splits(file, splits, flags, table);
  Split train = splits.at(table.train);
  if (!split) {
    constexpr std::int64_t share = 5;
    table.held_out = std::max<std::int64_t>(static_cast<std::int64_t>(train.size()) / share, 2);
  }
  table.train_items = static_cast<std::int64_t>(train.size()) - table.held_out;
  if (table.train_items < 2) {
    refuse(file,
           fmt::format("has {} for training and for the held-out evaluation; at least 4 items are "
                       "required, or 2 in train if there is a column 'split'",
                       counted(train.size(), "item")));
  }
  std::int64_t with_pairs = 0;
  for (const auto& [name, images] : train) {
    table.train_images += images;
    if (images > 1) ++with_pairs;
  }
  if (with_pairs < 2) {
    refuse(file, fmt::format("has {} with two or more images; training and evaluation compare "
                             "images of one item",
                             counted(static_cast<std::size_t>(with_pairs), "training item")));
  }
  // The held-out items are drawn when the run starts: about as many images as others have.
  table.train_images =
      table.train_images * table.train_items / static_cast<std::int64_t>(train.size());
  return table;
}

}  // namespace seam::host
