/// Tables: any text gives rows or a data error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <seam/error.hpp>

#include "stages/dataset/table_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seam::stages;
  if (size == 0) return 0;
  TableOptions options;  // selected by the first byte
  options.separator = (data[0] & 1U) != 0 ? ';' : ',';
  options.boxes = (data[0] & 2U) != 0 ? TableBoxes::field : TableBoxes::ignore;
  if ((data[0] & 4U) != 0) options.split = "query";
  if ((data[0] & 8U) != 0) options.numbers = {{"weight", "weight"}};
  try {
    (void)parse_table(std::string_view(reinterpret_cast<const char*>(data), size).substr(1),
                      "fuzz.csv", options);
  } catch (const seam::Error&) {  // expected; anything else is a bug
  }
  return 0;
}
