#include "pipeline/run/numerics.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

constexpr const char* first_gpu = "cuda:0";

/// The LibTorch version in the plugins' manifests; empty if no plugin uses LibTorch.
std::string libtorch_of(const std::vector<PluginFile>& plugins) {
  for (const PluginFile& plugin : plugins) {
    if (plugin.manifest.libtorch != "none") return plugin.manifest.libtorch;
  }
  return {};
}

Error no_device(const CheckedPipeline& pipeline, const std::vector<std::string>& devices) {
  const std::string libtorch = libtorch_of(pipeline.plugins);
  std::string text = fmt::format("device '{}' does not exist; ", pipeline.spec.device);
  if (pipeline.devices == nullptr) {
    text += "no plugin in this pipeline uses LibTorch, so everything runs on 'cpu'";
  } else {
    text += fmt::format("there {} {}", devices.size() == 1 ? "is" : "are", enumerated(devices));
    if (devices.size() == 1) {
      text += fmt::format(
          "; LibTorch finds no GPU: it is a build for CPUs only (see \"On a GPU\" in "
          "docs/dependencies.md; the plugins were built with {}), or this process cannot use "
          "one (see `nvidia-smi`)",
          libtorch);
    }
  }
  return Error(text + "\nset `device` in [pipeline], or --device, to one of these or to \"auto\"",
               Fault::configuration);
}

}  // namespace

std::string precision_name(Precision precision) {
  return precision == Precision::bfloat16 ? "bfloat16" : "float32";
}

std::string to_text(const Numerics& numerics) {
  return numerics.device + " in " + precision_name(numerics.precision) +
         (numerics.deterministic ? "" : ", not deterministic");
}

Numerics numerics_for(const CheckedPipeline& pipeline) {
  const PipelineSpec& spec = pipeline.spec;
  Numerics numerics{"cpu", spec.precision, spec.deterministic};
  if (spec.device == "cpu") return numerics;
  const std::vector<std::string> devices =
      pipeline.devices != nullptr ? pipeline.devices() : std::vector<std::string>{"cpu"};
  const auto exists = [&](const std::string& device) { return contains(devices, device); };
  if (spec.device == "auto") {
    numerics.device = exists(first_gpu) ? first_gpu : "cpu";
    return numerics;
  }
  numerics.device = spec.device == "cuda" ? first_gpu : spec.device;
  if (!exists(numerics.device)) throw no_device(pipeline, devices);
  return numerics;
}

void obey_numerics(const Numerics& numerics) {
  if (!numerics.deterministic) return;
  // MKL's products otherwise depend on the number of threads.
  ::setenv("MKL_CBWR", "AUTO,STRICT", 0);
  if (numerics.device == "cpu") return;
  // cuBLAS is deterministic only with a workspace of fixed size. It supports two sizes; this is the
  // larger one. A value set by the user is kept.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
}

}  // namespace seam::host
