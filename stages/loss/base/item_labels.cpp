#include "stages/loss/base/item_labels.hpp"

#include <algorithm>

#include "stages/picture_paths.hpp"

namespace seam::stages {

void check_items(const Packet& packet) {
  const std::vector<std::string>& items = packet.get(field::items);
  for (std::size_t row = 0; row < items.size(); ++row) {
    if (!items[row].empty()) continue;
    throw Error(row_name(packet, row) + " has no item, so its positives are unknown");
  }
}

std::vector<std::int64_t> item_labels(const std::vector<std::string>& items) {
  std::map<std::string, std::int64_t> numbers;
  std::vector<std::int64_t> labels;
  for (const std::string& item : items) {
    labels.push_back(
        numbers.emplace(item, static_cast<std::int64_t>(numbers.size())).first->second);
  }
  return labels;
}

std::vector<std::int64_t> item_labels(const Packet& packet) {
  check_items(packet);
  return item_labels(packet.get(field::items));
}

void check_pairs(const std::vector<std::int64_t>& labels) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  const std::int64_t items =
      labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  if (items > 1 && items < rows) return;
  throw Error(std::string(items == rows ? "no item of this batch has a second image"
                                        : "all images of this batch show one item") +
              ", so no image has both a positive and a negative (" + std::to_string(rows) +
              " images); a batch needs several items with several images each: put a sampler that "
              "groups items into the flow, or increase the batch size");
}

void check_proxy_labels(const std::vector<std::int64_t>& labels, std::int64_t rows,
                        std::int64_t proxies) {
  if (static_cast<std::int64_t>(labels.size()) != rows) {
    throw Error("there are " + std::to_string(labels.size()) + " labels for " +
                    std::to_string(rows) + " embeddings",
                Fault::internal);
  }
  check_rows(rows);
  for (const std::int64_t label : labels) {
    if (label >= 0 && label < proxies) continue;
    throw Error("label " + std::to_string(label) + " is not one of the " + std::to_string(proxies) +
                    " proxies",
                Fault::internal);
  }
}

}  // namespace seam::stages
