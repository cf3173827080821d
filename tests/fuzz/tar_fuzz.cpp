/// Tars and labels: any bytes give samples or a data error.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <seam/error.hpp>

#include "stages/dataset/tar_samples.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seam::stages;
  const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (::write(descriptor, data, size) != static_cast<::ssize_t>(size)) return 0;
  const auto file = std::make_shared<const OpenFile>(descriptor, "fuzz.tar");
  for (const char* ending : {"cls", "json"}) {
    try {
      for (const TarSample& sample : read_samples(file, {{}, {ending, "item"}})) {
        (void)sample.picture.content.read();
      }
    } catch (const seam::Error&) {  // expected; anything else is a bug
    }
  }
  return 0;
}
