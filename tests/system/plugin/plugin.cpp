/// Stages that let a test observe the program from outside: they count, fail, and wait at a gate
/// until the test opens it.
#include <seam/plugin.hpp>
#include <seam/stage.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace seam::test {
namespace {

constexpr Field<std::int64_t> number{"number"};

/// Emits the packets 0 to n - 1.
class Count final : public Source {
 public:
  static constexpr std::string_view name = "test.count";

  void declare(Declaration& d) override {
    d.doc("Emits the numbers from 0.");
    d.parameter("n", n_, "how many").at_least(0);
    d.provides(number);
  }
  void open(Context& context) override {
    const char* threads = std::getenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
    context.metric("openmp_threads", threads == nullptr ? -1.0 : std::atof(threads));
  }
  void begin(Context& /*context*/) override { next_ = 0; }
  More produce(Emitter& emitter, Context& /*context*/) override {
    if (next_ == n_) return More::no;
    Packet packet(Origin{nullptr, 0, "number " + std::to_string(next_)});
    packet.set(number, next_++);
    emitter.emit(std::move(packet));
    return next_ < n_ ? More::yes : More::no;
  }

 private:
  std::int64_t n_ = 10;
  std::int64_t next_ = 0;
};

enum class Hearing : std::uint8_t { good, deaf };

/// Emits one packet and then waits for a second one that never arrives, as on a socket.
class Listen final : public Source {
 public:
  static constexpr std::string_view name = "test.listen";

  void declare(Declaration& d) override {
    d.doc("Waits for packets that never arrive.");
    d.parameter("hearing", hearing_, "whether it can be interrupted",
                {{"good", Hearing::good}, {"deaf", Hearing::deaf}});
    d.provides(number);
  }
  More produce(Emitter& emitter, Context& context) override {
    if (!made_) {
      made_ = true;
      Packet packet(Origin{nullptr, 0, "number 0"});
      packet.set(number, std::int64_t{0});
      emitter.emit(std::move(packet));
      return More::yes;
    }
    context.info("waiting for a caller");
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return interrupted_; });
    return More::no;
  }
  void interrupt() override {
    if (hearing_ == Hearing::deaf) return;
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    wake_.notify_all();
  }

 private:
  Hearing hearing_ = Hearing::good;
  bool made_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool interrupted_ = false;
};

/// Adds an amount and a random number, on many threads.
class Add final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "test.add";

  void declare(Declaration& d) override {
    d.doc("Adds an amount and, with `chance`, a random number below it.");
    d.parameter("amount", amount_, "amount to add").range(0, 1000).unit("apples");
    d.parameter("chance", chance_, "a random number below this is drawn for each packet")
        .at_least(1);
    d.needs(number);
    d.provides(number);
  }
  void process(Packet& packet, Context& context) const override {
    Random random = context.random(packet);
    const auto drawn = static_cast<std::int64_t>(random.index(chance_));
    context.metric("drawn", static_cast<double>(drawn));
    packet[number] += amount_ + drawn;
  }

 private:
  std::int64_t amount_ = 1;
  std::uint64_t chance_ = 1;
};

/// The first ones are signals.
enum class Kind : std::uint8_t {
  crash = SIGABRT,
  bus_error = SIGBUS,
  illegal = SIGILL,
  arithmetic = SIGFPE,
  killed = SIGKILL,
  data = 100,
  internal,
  drop,
  null_write,
  overflow,
  exits,
  quick_exits,
  exits_at_once,
  thread_exits
};

enum class Call : std::uint8_t { open, begin, process, end, close };

/// Runs out of stack.
int descend(int depth) {  // NOLINT(misc-no-recursion): the purpose
  constexpr int kibibyte = 1024;
  volatile char room[kibibyte];  // NOLINT(*-avoid-c-arrays): std::array has no volatile members
  room[depth % kibibyte] = static_cast<char>(depth);
  if (depth == std::numeric_limits<int>::max()) return 0;
  return descend(depth + 1) + room[0];
}

/// Fails at some numbers, or in a call without a packet.
class Fail final : public Transform {
 public:
  static constexpr std::string_view name = "test.fail";

  void declare(Declaration& d) override {
    d.doc("Fails at some numbers, or in a call without a packet.");
    d.parameter("at", at_, "the number at which it fails");
    d.parameter("every", every_, "also fail at each n-th number; 0: never").at_least(0);
    d.parameter("in", in_, "the call in which it fails",
                {{"open", Call::open},
                 {"begin", Call::begin},
                 {"process", Call::process},
                 {"end", Call::end},
                 {"close", Call::close}});
    d.parameter("kind", kind_, "kind of failure",
                {{"data", Kind::data},
                 {"internal", Kind::internal},
                 {"drop", Kind::drop},
                 {"crash", Kind::crash},
                 {"bus_error", Kind::bus_error},
                 {"illegal", Kind::illegal},
                 {"arithmetic", Kind::arithmetic},
                 {"killed", Kind::killed},
                 {"null_write", Kind::null_write},
                 {"overflow", Kind::overflow},
                 {"exit", Kind::exits},
                 {"quick_exit", Kind::quick_exits},
                 {"exit_at_once", Kind::exits_at_once},
                 {"thread_exit", Kind::thread_exits}});
    d.needs(number);
  }
  void open(Context& context) override {
    if (in_ == Call::open) fail(&context);
  }
  void begin(Context& context) override {
    if (in_ == Call::begin) fail(&context);
  }
  void process(Packet& packet, Context& context) override {
    const bool turn = every_ > 0 && packet.get(number) % every_ == 0;
    if (in_ == Call::process && (packet.get(number) == at_ || turn)) fail(&context);
  }
  void end(Context& context) override {
    if (in_ == Call::end) fail(&context);
  }
  void close() override {
    if (in_ == Call::close) fail(nullptr);
  }

 private:
  void fail(Context* context) {
    const rlimit no_dump{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_dump);
    switch (kind_) {
      case Kind::data:
        throw Error(in_ == Call::process ? "this number cannot be read"
                                         : "the total cannot be written");
      case Kind::internal:
        throw std::logic_error("a defect");
      case Kind::drop:
        context->drop("not wanted");
        break;
      case Kind::null_write:
        *static_cast<volatile int*>(nullptr) = 1;  // NOLINT(clang-analyzer-core.NullDereference)
        break;
      case Kind::overflow:
        context->metric("depth", descend(0));
        break;
      case Kind::exits:
        std::exit(0);  // NOLINT(concurrency-mt-unsafe)
      case Kind::quick_exits:
        std::quick_exit(0);
      case Kind::exits_at_once:
        ::_exit(0);
      case Kind::thread_exits:
        std::thread([] { std::exit(0); }).join();  // NOLINT(concurrency-mt-unsafe)
        break;
      default:
        std::raise(static_cast<int>(kind_));
    }
  }

  std::int64_t at_ = -1;
  std::int64_t every_ = 0;
  Call in_ = Call::process;
  Kind kind_ = Kind::data;
};

enum class Deed : std::uint8_t { changes, changes_in_place, adds };

/// Changes packets in ways that it does not declare.
class Misbehave final : public Transform {
 public:
  static constexpr std::string_view name = "test.misbehave";

  void declare(Declaration& d) override {
    d.doc("Changes packets in ways that it does not declare.");
    d.parameter("deed", deed_, "the undeclared change",
                {{"changes", Deed::changes},
                 {"changes_in_place", Deed::changes_in_place},
                 {"adds", Deed::adds}});
    d.needs(number);
  }
  void process(Packet& packet, Context& /*context*/) override {
    switch (deed_) {
      case Deed::changes:
        packet.set(number, packet.get(number) + 1);
        break;
      case Deed::changes_in_place:
        ++packet[number];
        break;
      case Deed::adds:
        packet.set(field::item, "another");
        break;
    }
  }

 private:
  Deed deed_ = Deed::changes;
};

enum class Loss : std::uint8_t { keeps_all, sends_and_drops, drops_twice };

/// Loses packets, or accounts for them twice.
class Mislay final : public Collector {
 public:
  static constexpr std::string_view name = "test.mislay";

  void declare(Declaration& d) override {
    d.doc("Loses packets, or accounts for them twice.");
    d.parameter("loss", loss_, "how it loses or counts them",
                {{"keeps_all", Loss::keeps_all},
                 {"sends_and_drops", Loss::sends_and_drops},
                 {"drops_twice", Loss::drops_twice}});
    d.needs(number);
  }
  void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
    if (loss_ == Loss::keeps_all) return;
    if (loss_ == Loss::sends_and_drops) emitter.emit(packet);
    if (loss_ == Loss::drops_twice) emitter.drop(packet, "not wanted");
    emitter.drop(packet, "not wanted");
  }

 private:
  Loss loss_ = Loss::keeps_all;
};

/// At one number of one epoch: signals the test and waits. `folder` contains two FIFOs, "reached"
/// and "go"; without them the stage does not wait. Opening a FIFO blocks until the other side opens
/// it too, so neither side has to poll.
class Gate final : public Transform {
 public:
  static constexpr std::string_view name = "test.gate";

  void declare(Declaration& d) override {
    d.doc("Waits for a test.");
    d.parameter("folder", folder_, "folder of the FIFOs").required();
    d.parameter("at", at_, "the number to wait at; without numbers, the packet's position");
    d.parameter("epoch", epoch_, "the epoch to wait in");
    d.accepts(number);
  }
  void process(Packet& packet, Context& context) override {
    const auto position = static_cast<std::int64_t>(packet.sequence());
    const std::int64_t here = packet.has(number) ? packet.get(number) : position;
    if (context.epoch() != epoch_ || here != at_) return;
    if (!std::filesystem::exists(folder_ / "reached")) return;
    ::close(::open((folder_ / "reached").c_str(), O_WRONLY | O_CLOEXEC));
    ::close(::open((folder_ / "go").c_str(), O_RDONLY | O_CLOEXEC));
  }

 private:
  std::filesystem::path folder_;
  std::int64_t at_ = 0;
  std::int64_t epoch_ = 0;
};

/// Keeps a total over all epochs that depends on the order of its inputs.
class Total final : public Sink {
 public:
  static constexpr std::string_view name = "test.total";

  void declare(Declaration& d) override {
    d.doc("Adds up all numbers.");
    d.parameter("delay", delay_, "time per packet").range(0, 1000).unit("ms");
    d.parameter("rules", rules_, "which totals it may be compared with").protocol();
    d.needs(number);
    d.keeps_state();
    d.headline("total", Better::higher);
    d.headline("loss", Better::lower);
  }
  void process(const Packet& packet, Context& context) override {
    if (delay_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_));
    total_ = total_ * 0.999 + static_cast<double>(packet.get(number));
    context.metric("loss", 1 / (1 + total_));
  }
  void end(Context& context) override {
    context.metric("total", total_);
    context.report("The total", "It is " + std::to_string(total_) + ".");
  }
  void save(Archive& archive) const override { archive.put("total", total_); }
  void load(const Archive& archive) override { total_ = archive.number("total"); }

 private:
  std::int64_t delay_ = 0;
  std::string rules_;
  double total_ = 0;
};

}  // namespace
}  // namespace seam::test

SEAM_PLUGIN(seam::test::Count, seam::test::Add, seam::test::Fail, seam::test::Gate,
            seam::test::Listen, seam::test::Mislay, seam::test::Misbehave, seam::test::Total)
