/// Pipeline files: any bytes give a tree or findings, and findings can be printed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "pipeline/config/document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seam::host;
  Sources sources;
  const SourceText& source =
      sources.add("fuzz.toml", std::string(reinterpret_cast<const char*>(data), size));
  Findings findings(sources);
  (void)read_document(source, findings);
  for (const Problem& problem : findings.in_order()) (void)to_text(problem);
  return 0;
}
