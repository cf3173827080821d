/// Device, precision and determinism of a run, on which its results depend in addition to the
/// pipeline and the plugins.
///
///     device = "auto" ──► LibTorch's devices: cpu, cuda:0 ──► "cuda:0"
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

/// Returns the numerics that the pipeline specifies, with "auto" replaced by a device. Throws
/// seam::Error (configuration) that lists the available devices if the specified one does not
/// exist. Queries LibTorch only if the pipeline specifies a device other than "cpu".
Numerics numerics_for(const CheckedPipeline& pipeline);

/// Sets environment variables that libraries read when they are first used. Not safe once other
/// threads read the environment.
void obey_numerics(const Numerics& numerics);

}  // namespace seam::host
