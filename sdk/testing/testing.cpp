#include "seam/testing.hpp"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

namespace seam::testing {

void RecordingServices::log(LogLevel level, std::string_view /*stage*/, std::string_view text) {
  const std::lock_guard lock(mutex_);
  lines.push_back({level, std::string(text)});
}

void RecordingServices::metric(std::string_view /*stage*/, std::string_view name, double value) {
  const std::lock_guard lock(mutex_);
  metrics[std::string(name)].push_back(value);
}

void RecordingServices::report(std::string_view /*stage*/, std::string_view title,
                               std::string_view text) {
  const std::lock_guard lock(mutex_);
  reports.push_back({std::string(title), std::string(text)});
}

/// Collects the packets of a source or collector in the harness's lists.
class Harness::Collecting final : public Emitter {
 public:
  explicit Collecting(Harness& harness) : harness_(harness) {}

  void emit(Packet packet) override {
    packet.set_sequence(harness_.emitted_++);
    const Outcome outcome = harness_.runner_.check_provided(packet);
    if (outcome) {
      harness_.outputs_.push_back(std::move(packet));
    } else {
      harness_.note(packet, outcome);
    }
  }
  void drop(const Packet& packet, std::string reason) override {
    harness_.drops_.push_back({packet.origin(), std::move(reason)});
  }

 private:
  Harness& harness_;
};

Harness::Harness(std::string name, std::unique_ptr<Stage> stage)
    : runner_(std::move(name), "stage under test", std::move(stage)) {
  run_.services = &services_;
  run_.flow = "test";
}

Harness::~Harness() {
  try {
    close();
  } catch (const Error&) {
    // A destructor cannot report it; a test of close() calls it.
  }
  if (errors_asked_ || errors_.empty()) return;
  std::cerr << "harness: stage '" << runner_.name() << "' failed on " << errors_.size()
            << (errors_.size() == 1 ? " packet" : " packets")
            << ", and the test did not call errors():\n"
            << errors_.front().full_message() << std::endl;
}

Harness& Harness::set(const std::string& parameter, Value value) {
  runner_.configure({{parameter, std::move(value)}});
  return *this;
}

Harness& Harness::seed(std::uint64_t seed) {
  run_.seed = seed;
  return *this;
}

Harness& Harness::compute_threads(int threads) {
  run_.compute_threads = threads;
  return *this;
}

Harness& Harness::device(std::string device) {
  run_.device = std::move(device);
  return *this;
}

Harness& Harness::precision(Precision precision) {
  run_.precision = precision;
  return *this;
}

Harness& Harness::lanes(const Lanes& lanes) {
  run_.lanes = lanes;
  return *this;
}

Harness& Harness::run_directory(std::filesystem::path directory) {
  run_.run_directory = std::move(directory);
  return *this;
}

Harness& Harness::upstream(std::vector<StageRunner*> stages) {
  upstream_ = std::move(stages);
  return *this;
}

Harness& Harness::epoch(std::int64_t epoch) {
  run_.epoch = epoch;
  return *this;
}

Harness& Harness::flow(std::string name) {
  run_.flow = std::move(name);
  return *this;
}

Harness& Harness::training(bool training) {
  run_.training = training;
  return *this;
}

Harness& Harness::trainings(std::int64_t before) {
  run_.trainings = before;
  return *this;
}

Harness& Harness::open() {
  if (!opened_) {
    runner_.bind_upstream(upstream_);
    runner_.open(run_);
  }
  opened_ = true;
  return *this;
}

Harness& Harness::enter_thread() {
  runner_.enter_thread(run_);
  return *this;
}

void Harness::begin_flow() {
  open();
  if (in_flow_) return;
  in_flow_ = true;
  pushed_ = 0;
  emitted_ = 0;
  runner_.bind_upstream(upstream_);
  runner_.enter_thread(run_);
  runner_.begin(run_);
}

void Harness::note(const Packet& packet, const Outcome& outcome) {
  if (outcome.kind() == Outcome::Kind::dropped)
    drops_.push_back({packet.origin(), outcome.reason()});
  if (outcome.kind() == Outcome::Kind::failed) errors_.push_back(outcome.error());
}

Harness& Harness::push(Packet packet) {
  std::vector<Packet> one;
  one.push_back(std::move(packet));
  return push_all(std::move(one));
}

Harness& Harness::push_all(std::vector<Packet> packets, int threads) {
  begin_flow();
  for (Packet& packet : packets) {
    // The host never passes such a packet to a stage.
    if (const std::string mismatch = packet.row_mismatch(); !mismatch.empty()) {
      throw Error(
          "the test pushes a batch whose fields have different numbers of rows: " + mismatch,
          Fault::internal);
    }
    packet.set_sequence(pushed_++);
  }
  const StageKind kind = runner_.kind();
  std::vector<Outcome> outcomes(packets.size());
  if (kind == StageKind::parallel_transform && threads > 1) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&] {
        runner_.enter_thread(run_);
        for (std::size_t at = next++; at < packets.size(); at = next++) {
          outcomes[at] = runner_.transform(run_, packets[at]);
        }
      });
    }
    workers.clear();  // joins
  }
  Collecting emitter(*this);
  for (std::size_t at = 0; at < packets.size(); ++at) {
    Packet& packet = packets[at];
    switch (kind) {
      case StageKind::transform:
        outcomes[at] = runner_.transform(run_, packet);
        break;
      case StageKind::parallel_transform:
        if (threads <= 1) outcomes[at] = runner_.transform(run_, packet);
        break;
      case StageKind::collector: {
        const Packet taken(packet.origin());  // what messages need of it
        note(taken, runner_.collect(run_, std::move(packet), emitter));
      }
        continue;
      case StageKind::sink:
        outcomes[at] = runner_.consume(run_, packet);
        break;
      case StageKind::source:
        throw Error("a source receives no packets; use produce()", Fault::internal);
    }
    note(packet, outcomes[at]);
    if (outcomes[at] && kind != StageKind::sink) outputs_.push_back(std::move(packet));
  }
  return *this;
}

Harness& Harness::produce(std::size_t most) {
  begin_flow();
  Collecting emitter(*this);
  More more = More::yes;
  const std::size_t before = outputs_.size();
  while (more == More::yes && outputs_.size() - before < most) {
    const Outcome outcome = runner_.produce(run_, emitter, more);
    note(Packet(), outcome);
    if (!outcome) break;
  }
  return *this;
}

Harness& Harness::finish() {
  begin_flow();
  Collecting emitter(*this);
  More more = More::yes;
  while (more == More::yes) {
    const Packet nothing;
    const Outcome outcome = runner_.finish(run_, &emitter, more);
    note(nothing, outcome);
    if (!outcome) break;
  }
  in_flow_ = false;
  return *this;
}

Harness& Harness::close() {
  in_flow_ = false;
  if (std::exchange(opened_, false)) runner_.close();
  return *this;
}

void Harness::forget() {
  outputs_.clear();
  drops_.clear();
  errors_.clear();
  services_.lines.clear();
  services_.metrics.clear();
  services_.reports.clear();
}

}  // namespace seam::testing
