#include "pipeline/run/trace_context.hpp"

#include <cstddef>

namespace seam::host {
namespace {

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

bool is_traceparent(std::string_view text) {
  constexpr std::size_t version_end = 2;
  constexpr std::size_t trace_end = 35;
  constexpr std::size_t caller_end = 52;
  constexpr std::size_t size = 55;
  if (text.size() < size) return false;
  for (const std::size_t dash : {version_end, trace_end, caller_end}) {
    if (text[dash] != '-') return false;
  }
  const std::string_view version = text.substr(0, version_end);
  const std::string_view trace = text.substr(version_end + 1, trace_end - version_end - 1);
  const std::string_view caller = text.substr(trace_end + 1, caller_end - trace_end - 1);
  const std::string_view flags = text.substr(caller_end + 1, size - caller_end - 1);
  const bool ends = text.size() == size || (version != "00" && text[size] == '-');
  return ends && version != "ff" && is_hexadecimal(version) && is_hexadecimal(trace) &&
         !is_zero(trace) && is_hexadecimal(caller) && !is_zero(caller) && is_hexadecimal(flags);
}

}  // namespace seam::host
