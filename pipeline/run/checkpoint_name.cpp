#include "pipeline/run/checkpoint_name.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "sdk/src/checkpoint_format.hpp"

namespace seam::host {
namespace format = checkpoint_format;
namespace {

constexpr std::string_view flow_mark = "-flow-";
constexpr std::string_view step_mark = "-step-";

/// Removes a mark and the number after it from the beginning of the text. Returns false and leaves
/// the text unchanged if there is none, or if to_text() would write the number differently.
template <class Number>
bool take(std::string_view& text, std::string_view mark, Number& number) {
  if (!text.starts_with(mark)) return false;
  const char* const first = text.data() + mark.size();
  const char* const last = text.data() + text.size();
  Number value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || value < 0) return false;
  if (std::to_string(value).size() != static_cast<std::size_t>(end - first)) return false;
  number = value;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string to_text(const CheckpointName& name) {
  std::string text = fmt::format("{}{}", format::name_begin, name.epochs);
  if (name.after) return text + std::string(format::after_mark) + std::string(format::name_end);
  if (name.flows > 0) text += fmt::format("{}{}", flow_mark, name.flows);
  if (name.steps > 0) text += fmt::format("{}{}", step_mark, name.steps);
  return text + std::string(format::name_end);
}

std::optional<CheckpointName> checkpoint_name(std::string_view file_name) {
  CheckpointName name;
  if (!take(file_name, format::name_begin, name.epochs)) return std::nullopt;
  if (file_name.starts_with(format::after_mark)) {
    name.after = true;
    file_name.remove_prefix(format::after_mark.size());
  }
  take(file_name, flow_mark, name.flows);
  take(file_name, step_mark, name.steps);
  if (file_name != format::name_end || (name.after && name.is_within_epoch())) return std::nullopt;
  return name;
}

}  // namespace seam::host
