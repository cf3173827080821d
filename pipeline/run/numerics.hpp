/// Where and in what a run computes: what its results depend on besides the pipeline and the
/// plugins.
///
///     device = "auto" ──► what LibTorch has: cpu, cuda:0 ──► "cuda:0"
///     precision, deterministic ─────────────────────────────────┴──► Numerics ──► stages, summary
#pragma once

#include <string>

#include "pipeline/config/load.hpp"
#include "seam/context.hpp"

namespace seam::host {

struct Numerics {
  std::string device = "cpu";  ///< one that exists: "cpu", "cuda:0"
  Precision precision = Precision::float32;
  bool deterministic = true;

  friend bool operator==(const Numerics&, const Numerics&) = default;
};

/// "float32", "bfloat16".
std::string precision_name(Precision precision);
/// "cuda:0 in bfloat16", "cpu in float32, not deterministic"
std::string to_text(const Numerics& numerics);

/// What the pipeline asks for, with the device that it comes to. Throws seam::Error (configuration)
/// that lists the devices there are, where the one that is asked for is none of them. Asks LibTorch
/// only where the pipeline does not say "cpu".
Numerics numerics_for(const CheckedPipeline& pipeline);

/// Tells libraries that read their environment variables when they are first used. Not safe once
/// other threads read the environment.
void obey_numerics(const Numerics& numerics);

}  // namespace seam::host
