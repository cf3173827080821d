/// Flow texts: any text gives steps whose inputs come before them, or faults inside the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pipeline/config/flow_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const seam::host::FlowText flow =
      seam::host::parse_flow(std::string_view(reinterpret_cast<const char*>(data), size));
  for (std::size_t step = 0; step < flow.steps.size(); ++step) {
    if (flow.steps[step].offset >= size) std::abort();
    for (const std::size_t input : flow.steps[step].inputs) {
      if (input >= step) std::abort();
    }
  }
  return 0;
}
