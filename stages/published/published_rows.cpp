#include "stages/published/published_rows.hpp"

#include <array>
#include <map>
#include <vector>

#include "stages/decimals.hpp"

namespace seam::stages {
namespace {

struct PublishedRow {
  std::string tables;  ///< in the source: "7 and 8"
  std::string method;
  MeasuredOn on;
  std::map<std::int64_t, double> percent_at;  ///< by k
};

struct Queries {
  const char* category;
  std::int64_t images;
  std::int64_t items;
};

PublishedRow recall(const char* tables, const char* method, const Queries& queries,
                    const std::array<double, 6>& at) {
  return {tables,
          method,
          {.task = "recall",
           .data = "inshop",
           .category = queries.category,
           .queries = queries.images,
           .items = queries.items,
           .gallery = 12612,
           .height = 256,
           .width = 256,
           .mask = "ground_truth"},
          {{1, at[0]}, {10, at[1]}, {20, at[2]}, {30, at[3]}, {40, at[4]}, {50, at[5]}}};
}

PublishedRow accuracy(const char* tables, const char* method, const std::array<double, 2>& at) {
  return {tables,
          method,
          {.task = "accuracy",
           .data = "deepfashion-category-test",
           .category = "",
           .queries = 40000,
           .classes = 46,
           .height = 224,
           .width = 224,
           .mask = "none"},
          {{3, at[0]}, {5, at[1]}}};
}

std::vector<PublishedRow> published_rows() {
  return {
      recall("7 and 8", "SCCapsNet", {"", 14218, 3985}, {32.1, 72.4, 81.8, 86.3, 89.2, 90.9}),
      recall("7 and 8", "RCCapsNet", {"", 14218, 3985}, {33.9, 75.2, 84.6, 88.6, 91.0, 92.6}),
      recall("10", "SCCapsNet", {"WOMEN_Blouses_Shirts", 2094, 697},
             {36.3, 74.8, 82.5, 86.4, 88.6, 90.6}),
      recall("10", "SCCapsNet", {"WOMEN_Tees_Tanks", 2955, 673},
             {20.0, 64.1, 75.9, 82.7, 86.3, 88.5}),
      recall("10", "SCCapsNet", {"WOMEN_Dresses", 1091, 624}, {24.8, 65.4, 75.4, 81.8, 85.9, 88.0}),
      recall("10", "SCCapsNet", {"WOMEN_Shorts", 988, 246}, {25.4, 66.1, 78.5, 83.8, 88.3, 90.5}),
      recall("10", "SCCapsNet", {"WOMEN_Sweaters", 735, 212}, {27.5, 69.3, 80.4, 84.2, 86.5, 88.6}),
      recall("10", "SCCapsNet", {"WOMEN_Jackets_Coats", 545, 195},
             {34.5, 75.2, 84.2, 87.7, 89.7, 92.3}),
      recall("10", "RCCapsNet", {"WOMEN_Blouses_Shirts", 2094, 697},
             {39.7, 79.5, 86.8, 89.5, 91.3, 92.9}),
      recall("10", "RCCapsNet", {"WOMEN_Tees_Tanks", 2955, 673},
             {35.1, 75.5, 83.3, 86.8, 89.0, 90.8}),
      recall("10", "RCCapsNet", {"WOMEN_Dresses", 1091, 624}, {31.9, 73.3, 84.9, 89.0, 91.2, 92.4}),
      recall("10", "RCCapsNet", {"WOMEN_Shorts", 988, 246}, {27.3, 69.2, 80.4, 86.6, 89.7, 92.5}),
      recall("10", "RCCapsNet", {"WOMEN_Sweaters", 735, 212}, {27.6, 69.8, 80.8, 85.0, 88.3, 89.8}),
      recall("10", "RCCapsNet", {"WOMEN_Jackets_Coats", 545, 195},
             {36.5, 75.2, 84.8, 90.5, 92.8, 94.5}),
      accuracy("11 and 12", "SCCapsNet-CLS", {83.18, 89.83}),
      accuracy("11 and 12", "RCCapsNet-CLS", {85.12, 91.41}),
  };
}

}  // namespace

std::string published_table(const MeasuredOn& on, std::span<const std::int64_t> ks) {
  std::string text;
  for (const PublishedRow& row : published_rows()) {
    if (row.on != on) continue;
    text += "| " + row.method + " | " + row.tables + " |";
    for (const std::int64_t k : ks) {
      const auto at = row.percent_at.find(k);
      text +=
          (at == row.percent_at.end() ? std::string(" –") : " " + with_decimals(at->second)) + " |";
    }
    text += "\n";
  }
  if (text.empty()) return {};
  std::string head =
      "\nPublished for the same lists, counts, image size and mask (Kınlı 2019):\n\n"
      "| method | table |";
  std::string alignment = "\n|---|---|";
  for (const std::int64_t k : ks) {
    head += (on.task == "recall" ? " R@" : " top-") + std::to_string(k) + " |";
    alignment += "---:|";
  }
  return head + alignment + "\n" + text;
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
