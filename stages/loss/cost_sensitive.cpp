#include "stages/loss/cost_sensitive.hpp"

#include <torch/types.h>

#include <algorithm>
#include <fstream>

#include "stages/nn/fixed_parts.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, std::size_t line,
                         const std::string& what) {
  throw Error(file.string() + ":" + std::to_string(line) + ": " + what +
                  "; a cost file has one line per class, with as many comma-separated numbers as "
                  "there are classes",
              Fault::configuration);
}

/// The costs of a line.
std::vector<double> costs_of(std::string_view line, const std::filesystem::path& file,
                             std::size_t number) {
  std::vector<double> costs;
  for (;;) {
    const auto comma = line.find(',');
    const std::string_view text = trimmed(line.substr(0, comma), " \t\r");
    const auto value = number_in<double>(text);
    if (!value || *value < 0) {
      refuse(file, number, "'" + std::string(text) + "' is not a cost, which is a number from 0");
    }
    costs.push_back(*value);
    if (comma == std::string_view::npos) return costs;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

void CostSensitive::declare(Declaration& d) {
  d.doc(
      "Cost-sensitive regularisation (Galdran et al. 2020): the mean cost of a network's mistakes "
      "under the softmax of its logits. Used together with loss.cross_entropy; the paper's λ is "
      "`weight`.");
  d.parameter(
      "costs", kind_,
      "cost of confusing two classes: 1 (nominal), less within a super-class (super_class), the "
      "normalised squared distance of ordered classes (ordinal), or read from a file (file)",
      {{"nominal", Costs::nominal},
       {"super_class", Costs::super_class},
       {"ordinal", Costs::ordinal},
       {"file", Costs::file}});
  d.parameter("super_classes", super_classes_, "the super-class of each class")
      .range(0, 1e9)
      .only_with("costs", "super_class");
  d.parameter("within", within_, "the cost within a super-class")
      .range(0, 1)
      .only_with("costs", "super_class");
  d.parameter("file", file_, "CSV with one line per class, which has the cost of every class")
      .must_exist()
      .only_with("costs", "file");
  declare_class_loss(d, field::logits);
}

void CostSensitive::check_parameters() const {
  const auto wrong = [](const std::string& text) { throw Error(text, Fault::configuration); };
  if (labels_are_items() && kind_ != Costs::nominal) {
    wrong(
        "with `labels = \"item\"` the number of a class depends on the items that the data sets "
        "have, so costs by class number are not meaningful; set `costs = \"nominal\"`, or `labels "
        "= \"category\"`");
  }
  if (kind_ == Costs::super_class && super_classes_.empty()) {
    wrong("`costs = \"super_class\"` needs `super_classes`, a number for each class");
  }
  if (kind_ == Costs::file && !file_) wrong("`costs = \"file\"` needs `file`, a CSV file of costs");
}

void CostSensitive::open(Context& context) {
  check_parameters();
  ClassLoss::open(context);
  if (kind_ == Costs::super_class) {
    table_ = torch::tensor(super_classes_, torch::kInt64).to(device_of(context));
  } else if (kind_ == Costs::file) {
    table_ = read_costs(*file_).to(torch::kFloat32).to(device_of(context));
  }
}

Tensor CostSensitive::costs(const Tensor& logits, const Tensor& labels) const {
  switch (kind_) {
    case Costs::nominal:
      return nominal_costs(logits, labels);
    case Costs::super_class:
      return super_class_costs(logits, labels, table_, within_);
    case Costs::ordinal:
      return ordinal_costs(logits, labels);
    case Costs::file:
      return table_.index_select(0, labels);
  }
  throw Error("unknown costs", Fault::internal);
}

Tensor CostSensitive::compute(const Packet& packet, Context& context) {
  const Tensor& logits = packet.get(field::logits);
  if (table_.defined() && table_.size(0) != logits.size(1)) {
    throw Error("there are costs for " + std::to_string(table_.size(0)) +
                    " classes, but logits for " + std::to_string(logits.size(1)) + "; change `" +
                    (kind_ == Costs::file ? "file" : "super_classes") +
                    "`, or the model's `classes`",
                Fault::configuration);
  }
  const Tensor labels = labels_of(packet, logits, context, {"the cost", "logits"});
  return cost_sensitive_loss(logits, costs(logits, labels));
}

Tensor cost_sensitive_loss(const Tensor& logits, const Tensor& costs) {
  // In parts, since LibTorch's gradient of a softmax depends on the number of threads.
  const Tensor p = nn::by_parts(logits, [](const Tensor& rows) { return rows.softmax(1); });
  return (costs * p).sum(1).mean();
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
    if (trimmed(line, " \t\r").empty() && stream.peek() == std::ifstream::traits_type::eof()) break;
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
