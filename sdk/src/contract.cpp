#include "seam/contract.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "seam/error.hpp"
#include "seam/field.hpp"

namespace seam {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// A name begins with a letter; a number may be a minimum: "20+". Longer numbers exceed any tensor.
bool is_dimension(std::string_view text) {
  constexpr std::size_t most_digits = 18;
  if (std::isalpha(static_cast<unsigned char>(text.front())) != 0) {
    return std::ranges::all_of(text,
                               [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  }
  if (text.ends_with('+')) text.remove_suffix(1);
  return text.size() <= most_digits && is_number(std::string(text));
}

/// 20 for "20+"; nullopt for a number or a name.
std::optional<std::int64_t> lower_bound_of(const std::string& text) {
  if (text.size() < 2 || text.back() != '+') return std::nullopt;
  const std::string number = text.substr(0, text.size() - 1);
  if (!is_number(number)) return std::nullopt;
  return std::stoll(number);
}

bool known_element(std::string_view element) {
  static constexpr std::string_view known[] = {"*",    "u8",  "i32", "i64", "f16",
                                               "bf16", "f32", "f64", "bool"};
  return std::find(std::begin(known), std::end(known), element) != std::end(known);
}

std::string rank_text(std::size_t rank, bool open_ended) {
  return std::to_string(rank) + (open_ended ? " or more" : "") +
         (rank == 1 && !open_ended ? " dimension" : " dimensions");
}

}  // namespace

TensorContract TensorContract::parse(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    throw Error("tensor contract '" + std::string(text) + "': " + why +
                    "; a contract looks like f32[N,3,H,W]",
                Fault::internal);
  };
  TensorContract contract;
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') refuse("it has no [...]");
  contract.element_ = text.substr(0, open);
  if (!known_element(contract.element_)) {
    refuse("'" + contract.element_ +
           "' is not an element type (f32, f64, f16, bf16, i64, i32, u8, bool, *)");
  }
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string dimension(rest.substr(0, comma));
    std::erase(dimension, ' ');
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (contract.open_ended_) refuse("nothing may follow '...'");
    if (dimension == "...") {
      contract.open_ended_ = true;
    } else if (dimension.empty()) {
      refuse("a dimension is empty");
    } else if (!is_dimension(dimension)) {
      refuse("'" + dimension +
             "' is not a dimension; use a name (N), a number (3) or a minimum (20+)");
    } else {
      contract.dimensions_.push_back(std::move(dimension));
    }
  }
  return contract;
}

std::optional<std::string> TensorContract::first_difference(const TensorContract& provided,
                                                            const TensorContract& needed) {
  if (provided.element_ != needed.element_ && provided.element_ != "*" && needed.element_ != "*") {
    return "the elements are " + provided.element_ + ", not " + needed.element_;
  }
  const std::size_t have = provided.dimensions_.size();
  const std::size_t want = needed.dimensions_.size();
  const bool too_few = have < want && !provided.open_ended_;
  const bool too_many = have > want && !needed.open_ended_;
  if (too_few || too_many) {
    return "it has " + rank_text(have, provided.open_ended_) + ", not " +
           rank_text(want, needed.open_ended_);
  }
  for (std::size_t i = 0; i < std::min(have, want); ++i) {
    const std::string& a = provided.dimensions_[i];
    const std::string& b = needed.dimensions_[i];
    const auto least = lower_bound_of(b);
    if (least && is_number(a) && std::stoll(a) < *least) {
      return "dimension " + std::to_string(i) + " is " + a + ", but at least " +
             std::to_string(*least) + " is needed";
    }
    const auto provided_least = lower_bound_of(a);
    const bool too_long = provided_least && is_number(b) && std::stoll(b) < *provided_least;
    if (too_long || (is_number(a) && is_number(b) && a != b)) {
      return "dimension " + std::to_string(i) + " is " + a + ", not " + b;
    }
  }
  return std::nullopt;
}

std::optional<std::string> TensorContract::first_violation(
    std::string_view element, const std::vector<std::int64_t>& sizes) const {
  if (element_ != "*" && element != "*" && element_ != element) {
    return "its elements are " + std::string(element) + ", not " + element_;
  }
  if (sizes.size() < dimensions_.size() || (sizes.size() > dimensions_.size() && !open_ended_)) {
    return "it has " + rank_text(sizes.size(), false) + ", not " +
           rank_text(dimensions_.size(), open_ended_);
  }
  std::map<std::string, std::int64_t> named;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const std::string& dimension = dimensions_[i];
    if (const auto least = lower_bound_of(dimension)) {
      if (sizes[i] >= *least) continue;
      return "dimension " + std::to_string(i) + " is " + std::to_string(sizes[i]) +
             ", but at least " + std::to_string(*least) + " is needed";
    }
    const std::int64_t expected = is_number(dimension)
                                      ? std::stoll(dimension)
                                      : named.emplace(dimension, sizes[i]).first->second;
    if (sizes[i] != expected) {
      return "dimension " + std::to_string(i) + " is " + std::to_string(sizes[i]) + ", not " +
             std::to_string(expected) +
             (is_number(dimension) ? "" : " as " + dimension + " before");
    }
  }
  return std::nullopt;
}

std::string list_violation(std::int64_t length, std::string_view contract) {
  if (contract == "*[N]") return {};  // the most frequent contract, which any length satisfies
  return TensorContract::parse(contract).first_violation("*", {length}).value_or(std::string());
}

std::string image_violation(const Image& image, std::string_view contract) {
  return TensorContract::parse(contract)
      .first_violation("u8", {image.height(), image.width(), image.channels()})
      .value_or(std::string());
}

}  // namespace seam
