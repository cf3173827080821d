#include "seam/network.hpp"

#include <algorithm>

#include "seam/shape_text.hpp"

namespace seam {
namespace {

std::int64_t numbers_in(const NetworkTensor& tensor) {
  std::int64_t numbers = 1;
  for (const std::int64_t size : tensor.shape) numbers *= size;
  return numbers;
}

/// "21,513,000"
std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

/// "weight [64,3,7,7], bias [64] frozen"
std::string tensors_text(const std::vector<NetworkTensor>& tensors) {
  std::string text;
  for (const NetworkTensor& tensor : tensors) {
    text += (text.empty() ? "" : ", ") + tensor.name + " " + shape_text(tensor.shape);
    if (tensor.use != TensorUse::trained) text += " " + to_string(tensor.use);
  }
  return text;
}

struct Line {
  std::string name;
  std::string kind;
  std::string numbers;
  std::string tensors;
};

void add_lines(const NetworkPart& part, std::size_t depth, std::vector<Line>& lines) {
  lines.push_back({std::string(2 * depth, ' ') + part.name, part.kind,
                   grouped(size_of(part).total()), tensors_text(part.tensors)});
  for (const NetworkPart& each : part.parts) add_lines(each, depth + 1, lines);
}

std::string padding(const std::string& text, std::size_t width) {
  return std::string(width - text.size(), ' ');
}

}  // namespace

std::string to_string(TensorUse use) {
  switch (use) {
    case TensorUse::trained:
      return "trained";
    case TensorUse::frozen:
      return "frozen";
    case TensorUse::buffer:
      return "buffer";
    case TensorUse::shared:
      return "shared";
  }
  return "";
}

NetworkSize size_of(const NetworkPart& part) {
  NetworkSize size;
  for (const NetworkTensor& tensor : part.tensors) {
    if (tensor.use == TensorUse::trained) size.trained += numbers_in(tensor);
    if (tensor.use == TensorUse::frozen) size.frozen += numbers_in(tensor);
    if (tensor.use == TensorUse::buffer) size.buffers += numbers_in(tensor);
  }
  for (const NetworkPart& each : part.parts) {
    const NetworkSize inner = size_of(each);
    size.trained += inner.trained;
    size.frozen += inner.frozen;
    size.buffers += inner.buffers;
  }
  return size;
}

std::string to_text(const NetworkPart& network) {
  std::vector<Line> lines;
  add_lines(network, 0, lines);
  std::size_t name = 0;
  std::size_t kind = 0;
  std::size_t numbers = 0;
  for (const Line& line : lines) {
    name = std::max(name, line.name.size());
    kind = std::max(kind, line.kind.size());
    numbers = std::max(numbers, line.numbers.size());
  }
  std::string text;
  for (const Line& line : lines) {
    text += line.name + padding(line.name, name) + "  " + line.kind + padding(line.kind, kind) +
            "  " + padding(line.numbers, numbers) + line.numbers;
    if (!line.tensors.empty()) text += "  " + line.tensors;
    text += "\n";
  }
  const NetworkSize size = size_of(network);
  return text + grouped(size.total()) + " numbers: " + grouped(size.trained) + " trained, " +
         grouped(size.frozen) + " frozen, " + grouped(size.buffers) + " in buffers\n";
}

}  // namespace seam
