/// Flow and path strings: any string gives steps whose inputs come before them, or errors inside
/// the string.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pipeline/config/flow_text.hpp"

namespace {

void judge(std::string_view text, seam::host::TextKind kind) {
  const seam::host::FlowText flow = seam::host::parse_flow(text, kind);
  for (std::size_t step = 0; step < flow.steps.size(); ++step) {
    if (flow.steps[step].offset >= text.size()) std::abort();
    for (const std::size_t input : flow.steps[step].inputs) {
      if (input >= step) std::abort();
    }
  }
  for (const std::size_t end : flow.ends) {
    if (end >= flow.steps.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  judge(text, seam::host::TextKind::flow);
  judge(text, seam::host::TextKind::path);
  return 0;
}
