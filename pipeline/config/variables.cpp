#include "pipeline/config/variables.hpp"

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

constexpr int most_nested_defaults = 16;  // defaults within defaults

bool is_name(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

/// Position of the brace that matches the one before `from`, or npos.
std::size_t closing_brace(std::string_view text, std::size_t from) {
  int open = 1;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{') {
      ++open;
      ++i;
    } else if (text[i] == '}' && --open == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

class Expander {
 public:
  explicit Expander(const Environment& environment) : environment_(environment) {}

  Expansion take() { return std::move(result_); }

  /// `base`: where `text` begins in the original.
  void expand(std::string_view text, std::size_t base, int depth) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool dollar = text[i] == '$' && i + 1 < text.size();
      if (dollar && text[i + 1] == '$') {
        put('$', base + i++);
      } else if (dollar && text[i + 1] == '{') {
        i = variable(text, i, base, depth);
      } else {
        put(text[i], base + i);
      }
    }
  }

 private:
  void put(char byte, std::size_t from) {
    result_.text += byte;
    result_.written.push_back(static_cast<std::uint32_t>(from));
  }

  void fault(std::size_t offset, std::size_t length, std::string code, std::string message,
             std::vector<std::string> notes = {}) {
    result_.faults.push_back(
        {offset, length, std::move(code), std::move(message), std::move(notes)});
  }

  /// Handles "${...}" at `at`; returns the position of its last character.
  std::size_t variable(std::string_view text, std::size_t at, std::size_t base, int depth) {
    const std::size_t close = closing_brace(text, at + 2);
    if (close == std::string_view::npos) {
      fault(base + at, text.size() - at, "variable-syntax", "'${' is never closed",
            {"write ${NAME} or ${NAME:-default}, and $$ for a dollar sign"});
      return text.size() - 1;
    }
    const std::string_view inside = text.substr(at + 2, close - at - 2);
    const std::size_t colon = inside.find(":-");
    const std::string name(inside.substr(0, colon));
    const std::size_t length = close - at + 1;
    if (!is_name(name) || depth > most_nested_defaults) {
      fault(base + at, length, "variable-syntax", "'" + name + "' is not the name of a variable",
            {"write ${NAME} or ${NAME:-default}, and $$ for a dollar sign"});
      return close;
    }
    const auto found = environment_.find(name);
    const bool set = found != environment_.end();
    if (set && (colon == std::string_view::npos || !found->second.empty())) {
      for (const char byte : found->second) put(byte, base + at);
    } else if (colon != std::string_view::npos) {
      expand(inside.substr(colon + 2), base + at + 2 + colon + 2, depth + 1);
    } else {
      fault(base + at, length, "undefined-variable", "the variable '" + name + "' is not set",
            {did_you_mean(name, keys_in(environment_)),
             "set it (export " + name + "=...) or give a default: ${" + name + ":-default}"});
    }
    return close;
  }

  const Environment& environment_;
  Expansion result_;
};

}  // namespace

Expansion expand_variables(std::string_view text, const Environment& environment) {
  Expander expander(environment);
  expander.expand(text, 0, 0);
  return expander.take();
}

}  // namespace seam::host
