/// Runs one flow: with the graph engine in a real run, with a script in tests of the other parts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "pipeline/graph/flow.hpp"

namespace seam::host {

class FlowRunner {
 public:
  virtual ~FlowRunner() = default;
  FlowRunner() = default;
  FlowRunner(const FlowRunner&) = delete;
  FlowRunner& operator=(const FlowRunner&) = delete;
  FlowRunner(FlowRunner&&) = delete;
  FlowRunner& operator=(FlowRunner&&) = delete;

  /// Runs work on the compute thread and waits for it; rethrows its exceptions.
  virtual void on_compute_thread(const std::function<void()>& work) = 0;
  virtual FlowResult run(const FlowSpec& flow,
                         std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                         const FlowOptions& options) = 0;
};

}  // namespace seam::host
