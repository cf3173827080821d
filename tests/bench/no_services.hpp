/// Services of a flow that is measured without a run.
#pragma once

#include <string_view>

#include <seam/context.hpp>

namespace seam::bench {

class NoServices final : public Services {
 public:
  void log(LogLevel /*level*/, std::string_view /*stage*/, std::string_view /*text*/) override {}
  void metric(std::string_view /*stage*/, std::string_view /*name*/, double /*value*/) override {}
  void report(std::string_view /*stage*/, std::string_view /*title*/,
              std::string_view /*text*/) override {}
  [[nodiscard]] bool stop_requested() const override { return false; }
};

}  // namespace seam::bench
