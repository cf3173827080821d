/// Ranks that mpirun or srun has started: seam_mpi.so, which the program loads only then, so that
/// it does not depend on MPI itself.
#include <mpi.h>
#include <unistd.h>
#include <seam/ranks.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace seam::mpi {
namespace {

/// Bytes that a call of MPI may take from all ranks or give them: it counts in ints.
constexpr std::size_t most_at_once = std::size_t{1} << 30U;

void require(int result, const char* doing) {
  if (result == MPI_SUCCESS) return;
  std::vector<char> text(MPI_MAX_ERROR_STRING);
  int size = 0;
  MPI_Error_string(result, text.data(), &size);
  throw Error(std::string("MPI fails while ") + doing + ": " +
              std::string(text.data(), static_cast<std::size_t>(size)));
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int level = MPI_THREAD_SINGLE;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "starting");
    if (level < MPI_THREAD_SERIALIZED) {
      throw Error("this MPI does not allow calls from several threads (MPI_THREAD_SERIALIZED)",
                  Fault::configuration);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    require(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "starting");
    require(MPI_Comm_size(MPI_COMM_WORLD, &world_), "starting");
  }
  /// Waits for the other ranks, unless they were lost: then the process may only be ended.
  ~MpiRanks() override {
    if (!lost_) MPI_Finalize();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world() const override { return world_; }
  [[noreturn]] void abort(int exit_code) override {
    // Another thread may be inside MPI, which then may never return from this call.
    constexpr unsigned seconds = 5;
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(seconds);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 protected:
  std::vector<std::string> exchange(std::string_view bytes,
                                    std::chrono::milliseconds patience) override {
    return unless_lost([&] { return gather_bytes(bytes, patience); });
  }
  std::vector<std::string> exchange_each(const std::vector<std::string>& for_each,
                                         std::chrono::milliseconds patience) override {
    return unless_lost([&] { return scatter_bytes(for_each, patience); });
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <class Exchange>
  std::vector<std::string> unless_lost(const Exchange& exchange) {
    if (lost_) throw Error("the other ranks were lost before", Fault::internal);
    try {
      return exchange();
    } catch (...) {
      // The others may be in the middle of the exchange, and would take later bytes for its.
      lost_ = true;
      (void)buffers_.release();  // NOLINT(bugprone-unused-return-value): never freed, see Buffers
      throw;
    }
  }

  /// The bytes from all ranks, or for all ranks, in one buffer.
  struct Layout {
    std::vector<int> counts;
    std::vector<int> places;
    std::string bytes;

    /// Of the bytes with these sizes those from `from` on, at most `piece` of each.
    void resize(const std::vector<std::size_t>& sizes, std::size_t from, std::size_t piece) {
      counts.clear();
      places.clear();
      std::size_t place = 0;
      for (const std::size_t size : sizes) {
        const std::size_t count = std::min(size - std::min(size, from), piece);
        counts.push_back(static_cast<int>(count));
        places.push_back(static_cast<int>(place));
        place += count;
      }
      bytes.resize(place);
    }
  };

  /// What MPI may still read or write after a rank was lost.
  struct Buffers {
    std::vector<std::int64_t> own_sizes;
    std::vector<std::int64_t> sizes;
    Layout sent;
    Layout received;
  };

  /// The sizes in bytes that each rank says, in one list.
  std::vector<std::size_t> gather_sizes(const std::vector<std::int64_t>& own,
                                        std::chrono::milliseconds patience) {
    buffers_ = std::make_unique<Buffers>();
    Buffers& buffers = *buffers_;
    buffers.own_sizes = own;
    buffers.sizes.resize(own.size() * static_cast<std::size_t>(world_));
    const int count = static_cast<int>(own.size());
    complete(patience, [&](MPI_Request& request) {
      return MPI_Iallgather(buffers.own_sizes.data(), count, MPI_INT64_T, buffers.sizes.data(),
                            count, MPI_INT64_T, MPI_COMM_WORLD, &request);
    });
    return {buffers.sizes.begin(), buffers.sizes.end()};
  }

  std::vector<std::string> gather_bytes(std::string_view bytes,
                                        std::chrono::milliseconds patience) {
    const std::vector<std::size_t> sizes =
        gather_sizes({static_cast<std::int64_t>(bytes.size())}, patience);
    Layout& sent = buffers_->sent;
    Layout& received = buffers_->received;
    const std::size_t piece = most_at_once / sizes.size();
    std::vector<std::string> all(sizes.size());
    for (std::size_t from = 0; from < *std::ranges::max_element(sizes); from += piece) {
      sent.bytes = bytes.substr(std::min(from, bytes.size()), piece);
      received.resize(sizes, from, piece);
      complete(patience, [&](MPI_Request& request) {
        return MPI_Iallgatherv(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE,
                               received.bytes.data(), received.counts.data(),
                               received.places.data(), MPI_BYTE, MPI_COMM_WORLD, &request);
      });
      append_received(all);
    }
    return all;
  }

  std::vector<std::string> scatter_bytes(const std::vector<std::string>& for_each,
                                         std::chrono::milliseconds patience) {
    std::vector<std::int64_t> own;
    for (const std::string& bytes : for_each)
      own.push_back(static_cast<std::int64_t>(bytes.size()));
    const std::vector<std::size_t> sizes = gather_sizes(own, patience);
    const auto world = static_cast<std::size_t>(world_);
    std::vector<std::size_t> from_each;
    for (std::size_t rank = 0; rank < world; ++rank) {
      from_each.push_back(sizes[rank * world + static_cast<std::size_t>(rank_)]);
    }
    Layout& sent = buffers_->sent;
    Layout& received = buffers_->received;
    const std::size_t piece = most_at_once / world;
    std::vector<std::string> all(world);
    for (std::size_t from = 0; from < *std::ranges::max_element(sizes); from += piece) {
      sent.resize({own.begin(), own.end()}, from, piece);
      sent.bytes.clear();
      for (const std::string& bytes : for_each) {
        sent.bytes.append(std::string_view(bytes).substr(std::min(from, bytes.size()), piece));
      }
      received.resize(from_each, from, piece);
      complete(patience, [&](MPI_Request& request) {
        return MPI_Ialltoallv(sent.bytes.data(), sent.counts.data(), sent.places.data(), MPI_BYTE,
                              received.bytes.data(), received.counts.data(), received.places.data(),
                              MPI_BYTE, MPI_COMM_WORLD, &request);
      });
      append_received(all);
    }
    return all;
  }

  void append_received(std::vector<std::string>& all) const {
    const Layout& received = buffers_->received;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      all[rank].append(received.bytes, static_cast<std::size_t>(received.places[rank]),
                       static_cast<std::size_t>(received.counts[rank]));
    }
  }

  template <class Begin>
  void complete(std::chrono::milliseconds patience, const Begin& begin) {
    const Clock::time_point until = Clock::now() + patience;
    constexpr int tries_without_sleep = 2000;
    constexpr std::chrono::microseconds nap{50};
    MPI_Request request = MPI_REQUEST_NULL;
    require(begin(request), "exchanging bytes");
    for (int tries = 0;; ++tries) {
      int done = 0;
      require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "exchanging bytes");
      if (done != 0) return;
      if (Clock::now() >= until) break;
      if (tries < tries_without_sleep) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(nap);
      }
    }
    throw Error("rank " + std::to_string(rank_) + " of " + std::to_string(world_) +
                " waits for another rank, which has not answered for " +
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(patience).count()) +
                " s: it is stopped, it hangs, or the network is down");
  }

  int rank_ = 0;
  int world_ = 1;
  bool lost_ = false;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace
}  // namespace seam::mpi

/// Joins the ranks that the launcher has started, once per process. The caller owns the object.
/// Throws seam::Error.
extern "C" SEAM_EXPORT seam::Ranks* seam_connect_ranks() {
  return std::make_unique<seam::mpi::MpiRanks>().release();
}
