#include "pipeline/report/runs_page.hpp"

#include <fmt/format.h>

#include "pipeline/report/page.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/text/count.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

/// Percent-encodes the path of a file, because names of runs may contain any characters.
std::string address(const std::string& path) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string text;
  for (const char c : path) {
    text += plain.find(c) != std::string_view::npos
                ? std::string(1, c)
                : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

std::string cell_html(const RunsCell& cell) {
  std::string html = cell.number ? fmt::format("<td class=number data-sort=\"{}\">", *cell.number)
                                 : std::string("<td>");
  const std::string text = html_escaped(cell.text);
  html += cell.link.empty() ? text : "<a href=\"./" + address(cell.link) + "\">" + text + "</a>";
  if (!cell.note.empty()) html += "<small>" + html_escaped(cell.note) + "</small>";
  return html + "</td>";
}

std::string table_html(const RunsTable& table) {
  std::string html = "<thead><tr>";
  for (const std::string& column : table.columns) {
    html += "<th><button>" + html_escaped(column) + "</button></th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<RunsCell>& row : table.rows) {
    html += "<tr>";
    for (const RunsCell& cell : row) html += cell_html(cell);
    html += "</tr>\n";
  }
  return html + "</tbody>";
}

}  // namespace

std::string runs_page_html(const RunsTable& table) {
  return filled_template(runs_template, [&](std::string_view part) {
    if (part == "title") return html_escaped(table.title);
    if (part == "style") return std::string(page_style);
    if (part == "count") return counted(table.rows.size(), "run");
    if (part == "table") return table_html(table);
    throw Error("runs_page.html has no part '" + std::string(part) + "'", Fault::internal);
  });
}

void write_runs_page(const RunsTable& table, const std::filesystem::path& output) {
  refuse_other_files(output);
  write_whole_file(output, runs_page_html(table));
}

}  // namespace seam::host
