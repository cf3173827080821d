#include "stages/dataset/split_server.hpp"

#include <cstdint>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "stages/counted.hpp"
#include "stages/dataset/official_inshop.hpp"

namespace seam::stages {

void SplitServer::declare(Declaration& declaration) {
  declaration.parameter(
      "split", split_, "which part of the list to serve",
      {{"train", Split::train}, {"query", Split::query}, {"gallery", Split::gallery}});
  rows_.declare(declaration,
                {.item = "the item id of the list",
                 .category = "index of DEPARTMENT_CATEGORY in the sorted vocabulary of all splits",
                 .index = "position in the split, from 0, before folds cut it"});
}

void SplitServer::declare_counts(Declaration& declaration, ExpectedCounts& expected) {
  const auto expect = [&declaration](const char* parameter, std::optional<std::int64_t>& member,
                                     const char* doc) {
    declaration.parameter(parameter, member, doc).at_least(0);
  };
  expect("expect_train", expected.train,
         "number of train images that the list must have (25882 in the official one)");
  expect("expect_query", expected.query,
         "number of query images that the list must have (14218 in the official one)");
  expect("expect_gallery", expected.gallery,
         "number of gallery images that the list must have (12612 in the official one)");
}

InshopList SplitServer::open(const std::filesystem::path& root, const std::filesystem::path& list,
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
  const std::vector<InshopRow> images = parsed.of(split_);
  const std::string split(split_name(split_));
  if (images.empty()) throw Error("'" + file.string() + "' has no " + split + " images");
  if (!std::filesystem::exists(root / images.front().path, fault)) {
    throw Error("'" + (root / images.front().path).string() + "' is missing, the first " + split +
                " image of '" + file.string() +
                "'; unpack the images under the same root as the list");
  }
  std::vector<PictureRow> rows;
  rows.reserve(images.size());
  for (const InshopRow& image : images) {
    rows.push_back({root / image.path, image.path, image.item, image.category,
                    static_cast<std::int64_t>(rows.size()), image.line});
  }
  categories_ = parsed.categories;
  rows_.open(std::move(rows), file.string(), context, split + " images");
  difference_ = difference_from_official(parsed);
  const auto add = [this](const std::string& what) {
    difference_ += (difference_.empty() ? "" : ", ") + what;
  };
  if (split_ == Split::train) add("images of the train split");
  if (rows_.served() != static_cast<std::int64_t>(images.size())) {
    add(grouped(rows_.served()) + " of " + counted(images.size(), split + " image"));
  }
  std::istringstream lines(parsed.report.text());
  for (std::string line; std::getline(lines, line);) context.info(line);
  if (split_ != Split::train && parsed.report.lone_queries > 0) {
    const bool one = parsed.report.lone_queries == 1;
    context.warn((one ? "1 query has no image of its item in the gallery: no model can answer it"
                      : std::to_string(parsed.report.lone_queries) +
                            " queries have no image of their item in the gallery: no model can "
                            "answer them"));
  }
  return parsed;
}

void SplitServer::tell_difference(const Context& context) const {
  if (difference_.empty() || split_ == Split::train) return;
  context.info("not the data of published results: " + difference_);
}

}  // namespace seam::stages
