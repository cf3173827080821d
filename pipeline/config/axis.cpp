#include "pipeline/config/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

constexpr std::int64_t most_values = 10'000;
constexpr const char* forms =
    "it takes KEY=VALUES, such as stage.loss.margin=0.2,0.5,1 or pipeline.seed=1..3, and for "
    "random search stage.adam.rate=1e-4..1e-2:log";

[[noreturn]] void refuse_axis(const std::string& text, const std::string& why) {
  throw Error(fmt::format("'{}' is not an axis of a sweep: {}", text, why), Fault::configuration);
}

/// Reads a quoted string from its opening quote. Returns its content and the position after it.
std::size_t behind_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at) {
    if (text[at] == '\\' && quote == '"') ++at;
  }
  return std::min(at + 1, text.size());
}

/// Position of the first of `wanted` that is in no quotes and no brackets.
std::size_t find_outside(std::string_view text, char wanted, std::size_t from) {
  int depth = 0;
  for (std::size_t at = from; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = behind_quoted(text, at);
      continue;
    }
    if (c == wanted && depth == 0) return at;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++at;
  }
  return std::string_view::npos;
}

/// The parts between commas.
std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t comma = find_outside(text, ',', from);
    parts.emplace_back(trimmed(text.substr(from, comma - from)));
    if (comma == std::string_view::npos) return parts;
    from = comma + 1;
  }
}

/// Reads "1..3" and "1e-4..1e-2:log"; nullopt if the text is an ordinary value.
std::optional<Interval> interval_in(const std::string& axis, std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view first = text.substr(0, dots);
  std::string_view last = text.substr(dots + 2);
  const std::size_t colon = last.find(':');
  const std::string_view scale =
      colon == std::string_view::npos ? std::string_view() : last.substr(colon + 1);
  last = last.substr(0, colon);
  const auto least = number_in<double>(first);
  const auto most = number_in<double>(last);
  if (!least || !most) return std::nullopt;  // such as "../data"
  const std::string shown(text);
  Interval interval{*least, *most, Scale::linear, Numbers::real};
  if (number_in<std::int64_t>(first) && number_in<std::int64_t>(last)) {
    interval.numbers = Numbers::whole;
    constexpr double exact = 9007199254740992;  // 2^53: beyond it, doubles skip integers
    if (std::abs(*least) >= exact || std::abs(*most) >= exact) {
      refuse_axis(axis,
                  fmt::format("the range '{}' has numbers of 2^53 or more; list them instead: "
                              "\"KEY=1,2,3\"",
                              shown));
    }
  }
  // A script's 1..N with N = 1 lists one number; a range to draw from needs two different ends.
  const bool one_number = *least == *most && interval.numbers == Numbers::whole && scale.empty();
  if (!std::isfinite(*least) || !std::isfinite(*most) || (*least >= *most && !one_number)) {
    refuse_axis(axis,
                fmt::format("the range '{}' must go from a smaller number to a larger one", shown));
  }
  if (colon == std::string_view::npos) return interval;
  if (scale != "log") {
    refuse_axis(axis, fmt::format("only ':log' may follow the range '{}'", shown));
  }
  if (*least <= 0) refuse_axis(axis, fmt::format("':log' needs numbers above 0 in '{}'", shown));
  interval.scale = Scale::logarithmic;
  return interval;
}

void add_integers(const std::string& axis, const Interval& interval, std::vector<std::string>& to) {
  if (interval.most - interval.least >= static_cast<double>(most_values)) {
    refuse_axis(axis, fmt::format("a range may have up to {} values", most_values));
  }
  for (auto value = static_cast<std::int64_t>(interval.least);
       value <= static_cast<std::int64_t>(interval.most); ++value) {
    to.push_back(std::to_string(value));
  }
}

void add_values(const std::string& text, std::string_view values, Axis& axis) {
  const std::vector<std::string> parts = listed(values);
  for (const std::string& part : parts) {
    if (part.empty()) refuse_axis(text, "a value is empty; for an empty string, write \"\"");
    const std::optional<Interval> interval = interval_in(text, part);
    if (!interval) {
      axis.values.push_back(part);
    } else if (interval->numbers == Numbers::whole && interval->scale == Scale::linear) {
      add_integers(text, *interval, axis.values);
    } else if (parts.size() > 1) {
      refuse_axis(
          text, fmt::format("'{}' is a range for random search and must be the only value", part));
    } else {
      axis.interval = interval;
    }
  }
  std::set<std::string> seen;
  for (const std::string& value : axis.values) {
    if (!seen.insert(value).second)
      refuse_axis(text, fmt::format("the value '{}' is given twice", value));
  }
}

/// "variant.loss" and "variants" with the values that they mean.
std::vector<std::string> expanded(const std::vector<std::string>& texts,
                                  const VariantNames& variants) {
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    const std::size_t before = result.size();
    for (const VariantGroup& group : variants.groups) {
      if (text == "variants" || text == "variant." + group.name) {
        result.push_back(fmt::format("variant.{}={}", group.name, fmt::join(group.variants, ",")));
      }
    }
    if (text == "variants" && variants.groups.empty()) {
      refuse_axis(text,
                  "the file has no groups of variants, such as [variants] loss = [\"a\", \"b\"]");
    }
    if (result.size() == before) result.push_back(text);
  }
  return result;
}

/// Rejects groups and variants that the file does not have.
void check_variants(const std::string& text, const Axis& axis, const VariantNames& variants) {
  const std::string& key = axis.keys.front();
  if (!is_variant_key(key)) return;
  std::vector<std::string> known = variants.variants;
  if (key != "variant") {
    const std::string name = key.substr(key.find('.') + 1);
    const VariantGroup* group = find_in(variants.groups, name, &VariantGroup::name);
    if (group == nullptr) {
      const std::vector<std::string> groups = mapped(variants.groups, &VariantGroup::name);
      refuse_axis(text, fmt::format("[variants] has no group '{}'; {}", name,
                                    groups.empty() ? "the file has no groups of variants"
                                                   : "it has: " + enumerated(groups)));
    }
    known = group->variants;
  }
  if (axis.interval) refuse_axis(text, "variants have no range; list their names");
  for (const std::string& value : axis.values) {
    if (contains(known, value)) continue;
    refuse_axis(
        text,
        fmt::format("there is no variant '{}'{}{}", value, key == "variant" ? "" : " in " + key,
                    known.empty() ? "; the file has no variants"
                                  : "; accepted: " + enumerated(known) + suggestion(value, known)));
  }
}

}  // namespace

Axis parse_axis(const std::string& text) {
  const std::size_t equals = find_outside(text, '=', 0);
  if (equals == std::string::npos) refuse_axis(text, forms);
  Axis axis;
  axis.keys = listed(std::string_view(text).substr(0, equals));
  for (const std::string& key : axis.keys) {
    const bool thread_count = key == "pipeline.threads";
    if (key.find('.') == std::string::npos && !is_variant_key(key)) refuse_axis(text, forms);
    if (is_variant_key(key) && axis.keys.size() > 1) {
      refuse_axis(text,
                  "variants cannot change together with other keys; give them a separate axis: "
                  "variant=a,b");
    }
    if (thread_count) {
      refuse_axis(text,
                  "results do not depend on the number of threads; --threads sets it for all runs");
    }
  }
  add_values(text, std::string_view(text).substr(equals + 1), axis);
  return axis;
}

std::vector<Axis> parse_axes(const std::vector<std::string>& texts, const VariantNames& variants) {
  std::vector<Axis> axes;
  std::set<std::string> keys;
  for (const std::string& text : expanded(texts, variants)) {
    axes.push_back(parse_axis(text));
    check_variants(text, axes.back(), variants);
    for (const std::string& key : axes.back().keys) {
      if (!keys.insert(key).second)
        refuse_axis(text, fmt::format("the key '{}' is given twice", key));
    }
  }
  return axes;
}

}  // namespace seam::host
