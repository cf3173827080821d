/// Checkpoints: any bytes give a checkpoint or an error that says what is damaged. The size and the
/// checksum are mended first, for behind them lies the code that reads.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <seam/error.hpp>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/checksum.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t size_at = 16;  // behind magic, version and byte order
  constexpr std::size_t least = size_at + 2 * sizeof(std::uint64_t);
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (size >= least) {
    const std::uint64_t whole = size;
    std::memcpy(bytes.data() + size_at, &whole, sizeof(whole));
    seam::host::Crc64 checksum;
    checksum.add(std::span(bytes).first(size - sizeof(std::uint64_t)));
    const std::uint64_t value = checksum.value();
    std::memcpy(bytes.data() + size - sizeof(value), &value, sizeof(value));
  }
  try {
    (void)seam::host::parse_checkpoint(bytes, "fuzz.seam");
  } catch (const seam::Error&) {  // what is meant to come; anything else is a defect
  }
  return 0;
}
