#include "csv_table.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace {

/// A value in the format of RFC 4180: quoted if it contains a separator, a quote or a line break.
std::string quoted(const std::string& text, const std::string& separator) {
  const bool plain = text.find_first_of("\"\r\n") == std::string::npos &&
                     text.find(separator) == std::string::npos;
  if (plain) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

seam::Error cannot_write(const std::filesystem::path& file) {
  return seam::Error("'" + file.string() + "' cannot be written: " + std::strerror(errno));
}

}  // namespace

void CsvTable::declare(seam::Declaration& d) {
  d.doc(
      "Writes one line per packet: its origin, its item, and its index and category if present. "
      "The "
      "file appears when the flow has ended.");
  d.parameter("file", file_, "file name of the table; relative to the run folder");
  d.parameter("separator", separator_, "character between two values").choices({",", ";", "\t"});
  d.needs(seam::field::item);
  d.accepts(seam::field::index);
  d.accepts(seam::field::category);
}

void CsvTable::begin(seam::Context& context) {
  target_ = context.run_directory() / file_;  // an absolute file_ stays as it is
  part_ = target_;
  part_ += ".part";
  std::error_code there;
  if (target_.has_parent_path()) std::filesystem::create_directories(target_.parent_path(), there);
  out_.open(part_, std::ios::binary | std::ios::trunc);
  out_ << "origin" << separator_ << "item" << separator_ << "index" << separator_ << "category\n";
  if (!out_) throw cannot_write(part_);
}

void CsvTable::process(const seam::Packet& packet, seam::Context& /*context*/) {
  const auto number = [&](const seam::Field<std::int64_t>& key) {
    return packet.has(key) ? std::to_string(packet.get(key)) : std::string();
  };
  out_ << quoted(packet.origin().text(), separator_) << separator_
       << quoted(packet.get(seam::field::item), separator_) << separator_
       << number(seam::field::index) << separator_ << number(seam::field::category) << '\n';
  if (!out_) throw cannot_write(part_);
}

void CsvTable::end(seam::Context& /*context*/) {
  out_.close();
  if (!out_) throw cannot_write(part_);
  std::filesystem::rename(part_, target_);  // atomic: there is never a partial file
}

void CsvTable::close() {
  if (!out_.is_open()) return;
  out_.close();  // the flow was cancelled: a partial table could be mistaken for a complete one
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}
