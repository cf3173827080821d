#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/experiments/part_list.hpp"
#include "pipeline/run/parts.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/table.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {
namespace {

Json to_json(const ListedPart& part) {
  return {{"shard", to_text(part.shard)}, {"state", part.state},     {"note", part.note},
          {"run", part.run.string()},     {"packets", part.packets}, {"lost", part.lost}};
}

/// The parts that are not complete.
std::string table(const std::vector<ListedPart>& parts) {
  std::vector<std::vector<std::string>> rows;
  for (const ListedPart& part : parts) {
    if (part.state == "complete") continue;
    rows.push_back({to_text(part.shard), part.state, part.run.filename().string(), part.note});
  }
  if (rows.empty()) return {};
  return table_text({{"shard"}, {"state"}, {"folder"}, {"note", Align::left, Room::flexible}}, rows,
                    terminal_width(STDOUT_FILENO));
}

}  // namespace

ExitCode shards_verb(const ShardsArguments& arguments) {
  const std::vector<ListedPart> parts = list_parts(arguments.folder);
  const bool complete = all_complete(parts);
  if (arguments.json) {
    Json list = Json::array();
    for (const ListedPart& part : parts) list.push_back(to_json(part));
    std::cout << json_line({{"complete", complete}, {"shards", std::move(list)}}) << "\n";
  } else {
    std::cout << table(parts);
  }
  if (!complete) {
    return report_error(Error(
        summary_of(parts) + "; run the missing, stopped, failed and interrupted shards again; "
                            "remove the folders of the others before that",
        Fault::data));
  }
  if (!arguments.json) std::cout << summary_of(parts) << "\n";
  return ExitCode::success;
}

}  // namespace seam::host
