#include "stages/dataset/split_server.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>
#include <utility>

namespace seam::stages {

void SplitServer::declare(Declaration& declaration) {
  declaration.parameter(
      "split", split_, "which part of the list to serve",
      {{"train", Split::train}, {"query", Split::query}, {"gallery", Split::gallery}});
  declaration
      .parameter("limit", limit_, "serve only so many images, the first ones; for quick runs")
      .at_least(1);
  folds_.declare(declaration);
  declaration.provides(field::path).doc("the image's file");
  declaration.provides(field::item).doc("the item id of the list");
  declaration.provides(field::category)
      .doc("index of DEPARTMENT_CATEGORY in the sorted vocabulary of all splits");
  declaration.provides(field::index).doc("position in the split, from 0, before folds cut it");
}

void SplitServer::open(const std::filesystem::path& root, const std::filesystem::path& list,
                       const ExpectedCounts& expected, const Context& context) {
  const std::filesystem::path file = root / list;
  std::error_code fault;
  if (!std::filesystem::is_directory(root, fault)) {
    throw Error(
        "no folder '" + root.string() +
        "' with a data set in the In-Shop layout; set 'root' to the folder that holds 'img' "
        "and 'Eval'");
  }
  InshopList parsed = read_inshop_list(file, expected);
  rows_ = parsed.of(split_);
  if (rows_.empty()) {
    throw Error("'" + file.string() + "' holds no " + std::string(split_name(split_)) + " images");
  }
  if (!std::filesystem::exists(root / rows_.front().path, fault)) {
    throw Error("'" + (root / rows_.front().path).string() + "' is missing, the first " +
                std::string(split_name(split_)) + " image of '" + file.string() +
                "'; unpack the images under the same root as the list");
  }
  std::vector<std::string> items;
  items.reserve(rows_.size());
  for (const InshopRow& row : rows_) items.push_back(row.item);
  served_ = folds_.chosen(items);
  const std::string images = " " + std::string(split_name(split_)) + " images, ";
  if (const std::string part = folds_.text(); !part.empty()) {
    context.info("serving " + std::to_string(served_.size()) + " of " +
                 std::to_string(rows_.size()) + images + part);
  }
  if (limit_ && *limit_ < static_cast<std::int64_t>(served_.size())) {
    context.warn("serving " + std::to_string(*limit_) + " of " + std::to_string(served_.size()) +
                 images + "because of 'limit'");
    served_.resize(static_cast<std::size_t>(*limit_));
  }
  root_ = root;
  list_name_ = std::make_shared<const std::string>(file.string());
  std::istringstream lines(parsed.report.text());
  for (std::string line; std::getline(lines, line);) context.info(line);
  if (split_ != Split::train && parsed.report.lone_queries > 0) {
    const bool one = parsed.report.lone_queries == 1;
    context.warn((one ? "1 query has no image of its item in the gallery: no model can answer it"
                      : std::to_string(parsed.report.lone_queries) +
                            " queries have no image of their item in the gallery: no model can "
                            "answer them"));
  }
}

More SplitServer::produce(Emitter& emitter, const Context& context) {
  const auto world = static_cast<std::size_t>(std::max(context.world(), 1));
  const std::size_t at = next_ * world + static_cast<std::size_t>(context.rank());
  if (at >= served_.size()) return More::no;
  ++next_;
  const std::size_t row = served_[at];
  const InshopRow& image = rows_[row];
  Packet packet(Origin{list_name_, image.line, image.path});
  packet.set(field::path, root_ / image.path);
  packet.set(field::item, image.item);
  packet.set(field::category, std::int64_t{image.category});
  packet.set(field::index, static_cast<std::int64_t>(row));
  emitter.emit(std::move(packet));
  return at + world < served_.size() ? More::yes : More::no;
}

}  // namespace seam::stages
