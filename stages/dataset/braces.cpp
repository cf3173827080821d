#include "stages/dataset/braces.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <seam/error.hpp>
#include <string_view>

#include "stages/dataset/counted_list.hpp"

namespace seam::stages {
namespace {

constexpr std::size_t most_names = 1'000'000;

void check_number(std::size_t names, const std::string& text) {
  if (names <= most_names) return;
  throw Error("'" + text + "' stands for more than 1,000,000 names", Fault::configuration);
}

/// The position of the brace that closes the one at `open`, and the commas between them.
struct Pair {
  std::size_t close = std::string::npos;
  std::vector<std::size_t> commas;
};

Pair pair_at(const std::string& text, std::size_t open) {
  Pair pair;
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == ',' && depth == 1) pair.commas.push_back(at);
    if (text[at] != '}' || --depth > 0) continue;
    pair.close = at;
    break;
  }
  return pair;
}

/// The numbers of "000..015"; nullopt if the text is not such a range.
std::optional<std::vector<std::string>> range_of(std::string_view text, const std::string& whole) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = text.substr(dots + 2);
  const auto from = whole_number(first);
  const auto to = whole_number(last);
  if (!from || !to) return std::nullopt;
  const std::int64_t distance = *to > *from ? *to - *from : *from - *to;
  check_number(static_cast<std::size_t>(distance) + 1, whole);
  const auto padded = [](std::string_view end) { return end.size() > 1 && end.front() == '0'; };
  const std::size_t width = padded(first) || padded(last) ? std::max(first.size(), last.size()) : 0;
  std::vector<std::string> numbers;
  for (std::int64_t step = 0; step <= distance; ++step) {
    std::string digits = std::to_string(*to > *from ? *from + step : *from - step);
    digits.insert(0, width - std::min(width, digits.size()), '0');
    numbers.push_back(std::move(digits));
  }
  return numbers;
}

}  // namespace

std::vector<std::string> expand_braces(const std::string& text) {
  for (std::size_t open = text.find('{'); open != std::string::npos;
       open = text.find('{', open + 1)) {
    const Pair pair = pair_at(text, open);
    if (pair.close == std::string::npos) continue;
    std::vector<std::string> middles;
    const std::string inside = text.substr(open + 1, pair.close - open - 1);
    if (!pair.commas.empty()) {
      std::size_t from = open + 1;
      std::vector<std::size_t> ends = pair.commas;
      ends.push_back(pair.close);
      for (const std::size_t end : ends) {
        for (std::string& name : expand_braces(text.substr(from, end - from))) {
          middles.push_back(std::move(name));
        }
        from = end + 1;
      }
    } else if (auto numbers = range_of(inside, text)) {
      middles = *std::move(numbers);
    } else {
      continue;
    }
    const std::vector<std::string> rests = expand_braces(text.substr(pair.close + 1));
    check_number(middles.size() * rests.size(), text);
    std::vector<std::string> names;
    for (const std::string& middle : middles) {
      for (const std::string& rest : rests) names.push_back(text.substr(0, open) + middle + rest);
    }
    return names;
  }
  return {text};
}

}  // namespace seam::stages
