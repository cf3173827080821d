#include "stages/loss/cost_sensitive_loss.hpp"

#include <torch/types.h>
#include <seam/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>

namespace seam::stages {
namespace {

using torch::Tensor;

[[noreturn]] void refuse(const std::filesystem::path& file, std::size_t line,
                         const std::string& what) {
  throw Error(file.string() + ":" + std::to_string(line) + ": " + what +
                  "; a cost file has one line per class, with as many comma-separated numbers as "
                  "there are classes",
              Fault::configuration);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The costs of a line.
std::vector<double> costs_of(std::string_view line, const std::filesystem::path& file,
                             std::size_t number) {
  std::vector<double> costs;
  for (;;) {
    const auto comma = line.find(',');
    const std::string_view text = trimmed(line.substr(0, comma));
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value < 0) {
      refuse(file, number, "'" + std::string(text) + "' is not a cost, which is a number from 0");
    }
    costs.push_back(value);
    if (comma == std::string_view::npos) return costs;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

Tensor cost_sensitive_loss(const Tensor& logits, const Tensor& costs) {
  return (costs * logits.softmax(1)).sum(1).mean();
}

Tensor nominal_costs(const Tensor& logits, const Tensor& labels) {
  return torch::ones_like(logits.detach()).scatter_(1, labels.unsqueeze(1), 0);
}

Tensor super_class_costs(const Tensor& logits, const Tensor& labels, const Tensor& super_classes,
                         double within) {
  const Tensor same =
      super_classes.unsqueeze(0) == super_classes.index_select(0, labels).unsqueeze(1);
  return nominal_costs(logits, labels).mul_(same.to(logits.scalar_type()) * (within - 1) + 1);
}

Tensor ordinal_costs(const Tensor& logits, const Tensor& labels) {
  const Tensor classes = torch::arange(logits.size(1), logits.options().requires_grad(false));
  const auto furthest = static_cast<double>(std::max<std::int64_t>(1, logits.size(1) - 1));
  return ((labels.unsqueeze(1) - classes) / furthest).square();
}

Tensor read_costs(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw Error("the cost file '" + file.string() + "' cannot be read", Fault::configuration);
  }
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(stream, line);) {
    if (trimmed(line).empty() && stream.peek() == std::ifstream::traits_type::eof()) break;
    rows.push_back(costs_of(line, file, rows.size() + 1));
  }
  if (stream.bad() || rows.empty()) refuse(file, 1, "there are no costs");
  const std::size_t classes = rows.size();
  Tensor costs = torch::empty(
      {static_cast<std::int64_t>(classes), static_cast<std::int64_t>(classes)}, torch::kFloat64);
  for (std::size_t row = 0; row < classes; ++row) {
    if (rows[row].size() != classes) {
      refuse(file, row + 1,
             std::to_string(rows[row].size()) + " numbers, and " + std::to_string(classes) +
                 (classes == 1 ? " line" : " lines"));
    }
    if (rows[row][row] != 0) {
      refuse(file, row + 1, "class " + std::to_string(row) + " has a cost other than 0 for itself");
    }
    std::copy(rows[row].begin(), rows[row].end(),
              costs[static_cast<std::int64_t>(row)].data_ptr<double>());
  }
  return costs;
}

}  // namespace seam::stages
