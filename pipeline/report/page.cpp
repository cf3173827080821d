#include "pipeline/report/page.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>

#include "pipeline/report/report_data.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

/// The beginning of page.html; distinguishes pages from other files.
constexpr std::string_view page_mark = "<!DOCTYPE html>\n<!-- seam report -->";

/// JSON as the content of a script element, which ends at "</script" and is confused by "<!--".
std::string script_safe(const Json& data) {
  // ASCII, because Unicode line separators would end lines of the script.
  return replaced(ascii_json(data), "<", "\\u003c");
}

std::string part(std::string_view name, std::string_view title, const Json& data) {
  if (name == "title") return html_escaped(title);
  if (name == "style") return std::string(page_style);
  if (name == "chart") return std::string(chart_library);
  if (name == "data") return script_safe(data);
  if (name == "script") return std::string(page_script);
  throw Error("page.html has no part '" + std::string(name) + "'", Fault::internal);
}

}  // namespace

std::string html_escaped(std::string_view text) {
  const std::string written = replaced(replaced(text, "&", "&amp;"), "<", "&lt;");
  return replaced(replaced(written, ">", "&gt;"), "\"", "&quot;");
}

void refuse_other_files(const fs::path& output) {
  if (fs::is_directory(output)) refuse("'{}' is a folder; pass the file to write", output.string());
  if (!fs::exists(output)) return;
  std::ifstream stream(output, std::ios::binary);
  std::string begin(page_mark.size(), '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin == page_mark) return;
  refuse(
      "'{}' exists and was not written by `seam report`, so it is not overwritten; choose another "
      "file with --output",
      output.string());
}

std::string filled_template(std::string_view text,
                            const std::function<std::string(std::string_view)>& part) {
  constexpr std::string_view open = "{{";
  constexpr std::string_view close = "}}";
  std::string filled;
  for (std::size_t at = text.find(open); at != std::string_view::npos; at = text.find(open)) {
    const std::size_t end = text.find(close, at);
    filled += text.substr(0, at);
    filled += part(text.substr(at + open.size(), end - at - open.size()));
    text.remove_prefix(end + close.size());
  }
  return filled += text;
}

std::string page_html(std::string_view title, const Json& data) {
  return filled_template(page_template,
                         [&](std::string_view name) { return part(name, title, data); });
}

fs::path write_page(const std::vector<std::string>& runs, const fs::path& output) {
  if (runs.size() > 1 && output.empty()) {
    refuse("a report on several runs has no default file; set one with --output");
  }
  std::vector<fs::path> folders;
  std::set<fs::path> known;
  std::vector<RunRecord> records;
  for (const std::string& run : runs) {
    folders.emplace_back(run);
    records.push_back(read_record(run));
    if (!known.insert(fs::canonical(run)).second) {
      refuse("'{}' is given twice; give each run once", run);
    }
  }
  fs::path file = output.empty() ? folders.front() / "report.html" : output;
  refuse_other_files(file);
  const std::vector<std::string> labels = labels_of(folders);
  write_whole_file(
      file, page_html(fmt::format("{}", fmt::join(labels, ", ")), report_data(records, labels)));
  return file;
}

}  // namespace seam::host
