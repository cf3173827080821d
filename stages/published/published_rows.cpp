#include "stages/published/published_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <seam/error.hpp>

#include "stages/decimals.hpp"

namespace seam::stages {
namespace {

constexpr std::string_view header =
    "task,tables,method,data,category,queries,items,gallery,classes,height,width,mask,values";
constexpr std::size_t columns = 13;

[[noreturn]] void fail(std::int64_t line, const std::string& what) {
  throw Error("published.csv:" + std::to_string(line) + ": " + what, Fault::internal);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class T>
T number(std::string_view text, std::int64_t line) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < T{}) {
    fail(line, "'" + std::string(text) + "' is not a number");
  }
  return value;
}

std::optional<std::int64_t> count(std::string_view text, std::int64_t line) {
  if (text.empty()) return {};
  return number<std::int64_t>(text, line);
}

PublishedRow parse_row(std::string_view text, std::int64_t line) {
  const std::vector<std::string_view> cells = split(text, ',');
  if (cells.size() != columns) fail(line, "expected 13 cells");
  PublishedRow row;
  row.tables = cells[1];
  row.method = cells[2];
  row.on = {.task = std::string(cells[0]),
            .data = std::string(cells[3]),
            .category = std::string(cells[4]),
            .queries = count(cells[5], line),
            .items = count(cells[6], line),
            .gallery = count(cells[7], line),
            .classes = count(cells[8], line),
            .height = count(cells[9], line),
            .width = count(cells[10], line),
            .mask = std::string(cells[11])};
  if (row.on.task != "recall" && row.on.task != "accuracy") {
    fail(line, "the task must be recall or accuracy");
  }
  if (row.method.empty() || row.on.data.empty() || row.tables.empty()) {
    fail(line, "method, data and tables must not be empty");
  }
  for (const std::string_view value : split(cells[12], ' ')) {
    const std::vector<std::string_view> parts = split(value, '=');
    if (parts.size() != 2) fail(line, "values must have the form k=percent");
    row.values.emplace_back(number<std::int64_t>(parts[0], line), number<double>(parts[1], line));
    if (row.values.back().second > 100) fail(line, "a value is above 100 percent");
  }
  return row;
}

bool complete(const MeasuredOn& on) {
  return !on.data.empty() && on.queries && on.height && on.width && !on.mask.empty();
}

}  // namespace

std::optional<double> PublishedRow::at(std::int64_t k) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& value) { return value.first == k; });
  if (found == values.end()) return {};
  return found->second;
}

std::vector<PublishedRow> parse_published(std::string_view csv) {
  std::vector<PublishedRow> rows;
  std::int64_t line = 0;
  for (const std::string_view text : split(csv, '\n')) {
    ++line;
    if (line == 1) {
      if (text != header) fail(line, "the first line must be '" + std::string(header) + "'");
      continue;
    }
    if (!text.empty()) rows.push_back(parse_row(text, line));
  }
  return rows;
}

std::vector<PublishedRow> published_on(const MeasuredOn& on) {
  std::vector<PublishedRow> rows;
  if (!complete(on)) return rows;
  for (PublishedRow& row : parse_published(published_csv())) {
    if (row.on == on) rows.push_back(std::move(row));
  }
  return rows;
}

std::string published_table(std::span<const PublishedRow> rows, std::span<const std::int64_t> ks,
                            const std::string& column) {
  if (rows.empty()) return {};
  std::string text =
      "\nPublished for the same lists, counts, image size and mask (Kınlı 2019):\n\n"
      "| method | table |";
  for (const std::int64_t k : ks) text += " " + column + std::to_string(k) + " |";
  text += "\n|---|---|";
  for (std::size_t i = 0; i < ks.size(); ++i) text += "---:|";
  text += "\n";
  for (const PublishedRow& row : rows) {
    text += "| " + row.method + " | " + row.tables + " |";
    for (const std::int64_t k : ks) {
      const std::optional<double> value = row.at(k);
      text += (value ? " " + with_decimals(*value) : std::string(" –")) + " |";
    }
    text += "\n";
  }
  return text;
}

std::string data_of_protocol(std::string_view protocol) {
  constexpr std::string_view size = "/img";
  const std::size_t last = protocol.rfind('/');
  if (last == std::string_view::npos || !protocol.substr(last).starts_with(size)) {
    return std::string(protocol);
  }
  const std::string_view digits = protocol.substr(last + size.size());
  const bool is_size =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return std::string(is_size ? protocol.substr(0, last) : protocol);
}

}  // namespace seam::stages
