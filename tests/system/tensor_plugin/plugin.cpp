/// Stages that report the bytes of a batch and the number of threads of the process to a test.
#include <ATen/Parallel.h>
#include <seam/plugin.hpp>
#include <seam/tensor.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

namespace seam::test {
namespace {

/// Records a number that is equal for two batches only if their images are the same, in the same
/// order.
class Digest final : public Transform {
 public:
  static constexpr std::string_view name = "test.digest";

  void declare(Declaration& d) override {
    d.doc("Records a hash of each batch's pictures.");
    d.needs(field::images);
  }
  void process(Packet& packet, Context& context) override {
    const Tensor images = on_host(packet.get(field::images));
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, word by word
    const float* const values = images.data_ptr<float>();
    for (std::int64_t i = 0; i < images.numel(); ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, values + i, sizeof word);
      hash = (hash ^ word) * 0x100000001b3;
    }
    context.metric("digest", static_cast<double>(hash >> 16U));  // 48 bits: exact in a double
  }
};

/// Subtracts the mean of each batch, so that an image's embedding depends on the other images.
class Centre final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "test.centre";

  void declare(Declaration& d) override {
    d.doc("Subtracts the mean of the batch.");
    d.needs(field::images);
    d.provides(field::images);
  }
  void process(Packet& packet, Context& /*context*/) const override {
    const Tensor images = packet.get(field::images);
    packet.set(field::images, images - images.mean(0, true));
  }
};

/// Reports at the end of each flow how many threads the process has, and how many LibTorch uses on
/// this thread.
class CountThreads final : public Transform {
 public:
  static constexpr std::string_view name = "test.count_threads";

  void declare(Declaration& d) override {
    d.doc("Logs the number of the process's threads, and of LibTorch's that work.");
    d.needs(field::images);
  }
  /// The thread with LibTorch's workers: another thread would get its own workers.
  [[nodiscard]] bool on_compute_thread() const override { return true; }
  void process(Packet& /*packet*/, Context& /*context*/) override {}
  void end(Context& context) override {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    context.info("threads: " + std::to_string(std::distance(std::filesystem::begin(threads),
                                                            std::filesystem::end(threads))));
    std::mutex mutex;
    std::set<std::thread::id> working;
    at::parallel_for(0, 64, 1, [&](std::int64_t /*first*/, std::int64_t /*last*/) {
      const std::lock_guard lock(mutex);
      working.insert(std::this_thread::get_id());
    });
    context.info("working in LibTorch: " + std::to_string(working.size()));
  }
};

/// Reports at the end of each flow on how many threads its packets were processed at once.
class CountWorkers final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "test.count_workers";

  void declare(Declaration& d) override { d.doc("Logs the largest number of calls at once."); }
  void begin(Context& /*context*/) override { most_ = 0; }
  void process(Packet& /*packet*/, Context& /*context*/) const override {
    const int now = ++inside_;
    int most = most_;
    while (most < now && !most_.compare_exchange_weak(most, now)) {
    }
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // other threads may enter
    --inside_;
  }
  void end(Context& context) override { context.info("at once: " + std::to_string(most_.load())); }

 private:
  mutable std::atomic<int> inside_ = 0;
  mutable std::atomic<int> most_ = 0;
};

/// Damages one batch of a flow: sets a pixel to NaN, or drops the batch.
class OneBatch final : public Transform {
 public:
  static constexpr std::string_view name = "test.one_batch";

  void declare(Declaration& d) override {
    d.doc("Spoils or drops one batch.");
    d.parameter("number", number_, "which batch of the flow, from 0").at_least(0);
    d.parameter("action", action_, "what to do with it",
                {{"spoil", Action::spoil}, {"drop", Action::drop}});
    d.needs(field::images);
    d.provides(field::images);
  }
  void process(Packet& packet, Context& context) override {
    if (packet.sequence() != static_cast<std::uint64_t>(number_)) return;
    if (action_ == Action::drop) return context.drop("the test says so");
    packet[field::images][0][0][0][0] = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  enum class Action : std::uint8_t { spoil, drop };

  std::int64_t number_ = 0;
  Action action_ = Action::spoil;
};

/// Sends the process a signal at the packet that an environment variable gives: "train 1 7 2" is
/// flow, epoch, packet, signal. After a request to stop, it waits until the run has noticed.
class Raise final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "test.raise";

  void declare(Declaration& d) override { d.doc("Raises a signal."); }
  void open(Context& context) override {
    const std::string variable = "SEAM_TEST_RAISE_" + std::string(context.stage());
    const char* text = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (text != nullptr) std::istringstream(text) >> flow_ >> epoch_ >> packet_ >> signal_;
  }
  void process(Packet& packet, Context& context) const override {
    if (context.flow() != flow_ || context.epoch() != epoch_ || packet.sequence() != packet_)
      return;
    ::kill(::getpid(), signal_);
    while (!context.stop_requested()) std::this_thread::yield();
  }

 private:
  std::string flow_;
  std::int64_t epoch_ = 0;
  std::uint64_t packet_ = 0;
  int signal_ = 0;
};

}  // namespace
}  // namespace seam::test

SEAM_PLUGIN(seam::test::Digest, seam::test::Centre, seam::test::CountThreads,
            seam::test::CountWorkers, seam::test::OneBatch, seam::test::Raise)
