/// A flow of numbered packets that is measured without a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <seam/context.hpp>
#include <seam/error.hpp>

#include "pipeline/graph/flow.hpp"

namespace seam::bench {

inline constexpr Field<std::int64_t> number{"number"};
inline constexpr Field<std::vector<std::uint8_t>> payload{"payload"};

/// Emits packets with the numbers from 0, and with this many bytes each.
class Count final : public Source {
 public:
  explicit Count(std::int64_t count, std::size_t bytes = 0) : count_(count), bytes_(bytes) {}
  void declare(Declaration& d) override {
    d.provides(number);
    if (bytes_ > 0) d.provides(payload);
  }
  More produce(Emitter& emitter, Context& /*context*/) override {
    if (made_ == count_) return More::no;
    Packet packet;
    packet.set(number, made_++);
    if (bytes_ > 0) packet.set(payload, std::vector<std::uint8_t>(bytes_, 1));
    emitter.emit(std::move(packet));
    return More::yes;
  }

 private:
  std::int64_t count_;
  std::size_t bytes_;
  std::int64_t made_ = 0;
};

/// Changes the numbers.
template <class Kind>
class OnNumbers : public Kind {
 public:
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(number);
  }
};

class NoServices final : public Services {
 public:
  void log(LogLevel /*level*/, std::string_view /*stage*/, std::string_view /*text*/) override {}
  void metric(std::string_view /*stage*/, std::string_view /*name*/, double /*value*/) override {}
  void report(std::string_view /*stage*/, std::string_view /*title*/,
              std::string_view /*text*/) override {}
  [[nodiscard]] bool stop_requested() const override { return false; }
};

struct MeasuredFlow {
  std::map<std::string, std::unique_ptr<StageRunner>> stages = {};
  host::FlowSpec spec = {};
  host::FlowOptions options = {};

  void add(const std::string& name, std::unique_ptr<Stage> stage, std::vector<std::size_t> inputs) {
    stages[name] = std::make_unique<StageRunner>(name, "bench", std::move(stage));
    spec.nodes.push_back({name, std::move(inputs), {}});
  }
  /// Throws the error of the flow, if it fails.
  host::FlowResult run(int threads) {
    NoServices services;
    options.run.services = &services;
    options.run.flow = spec.name = "bench";
    host::FlowEngine engine(threads);
    host::FlowResult result = engine.run(spec, stages, options);
    if (result.error) throw Error(*result.error);
    return result;
  }
};

}  // namespace seam::bench
