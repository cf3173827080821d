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
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace seam::mpi {
namespace {

/// Bytes that a call of MPI may gather from all ranks: it counts them in ints.
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
    if (lost_) throw Error("the other ranks were lost before", Fault::internal);
    try {
      return gather_bytes(bytes, patience);
    } catch (...) {
      // The others may be in the middle of the exchange, and would take later bytes for its.
      lost_ = true;
      (void)buffers_.release();  // NOLINT(bugprone-unused-return-value): never freed, see Buffers
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// What MPI may still write to after a rank was lost.
  struct Buffers {
    std::int64_t own_size = 0;
    std::vector<std::int64_t> sizes;
    std::vector<int> counts;
    std::vector<int> places;
    std::string sent;
    std::string received;
  };

  std::vector<std::string> gather_bytes(std::string_view bytes,
                                        std::chrono::milliseconds patience) {
    const auto world = static_cast<std::size_t>(world_);
    buffers_ = std::make_unique<Buffers>();
    buffers_->own_size = static_cast<std::int64_t>(bytes.size());
    buffers_->sizes.resize(world);
    complete(patience, [&](MPI_Request& request) {
      return MPI_Iallgather(&buffers_->own_size, 1, MPI_INT64_T, buffers_->sizes.data(), 1,
                            MPI_INT64_T, MPI_COMM_WORLD, &request);
    });
    std::vector<std::string> all(world);
    for (std::size_t rank = 0; rank < world; ++rank) {
      all[rank].reserve(static_cast<std::size_t>(buffers_->sizes[rank]));
    }
    const auto longest =
        static_cast<std::size_t>(*std::max_element(buffers_->sizes.begin(), buffers_->sizes.end()));
    const std::size_t piece = most_at_once / world;
    for (std::size_t from = 0; from < longest; from += piece) {
      gather_piece(from, piece, bytes, patience, all);
    }
    return all;
  }

  /// The bytes from `from` on, at most `piece` of each rank.
  void gather_piece(std::size_t from, std::size_t piece, std::string_view bytes,
                    std::chrono::milliseconds patience, std::vector<std::string>& all) {
    Buffers& buffers = *buffers_;
    buffers.counts.clear();
    buffers.places.clear();
    std::size_t place = 0;
    for (const std::int64_t size : buffers.sizes) {
      const std::size_t left = static_cast<std::size_t>(size) -
                               std::min<std::size_t>(static_cast<std::size_t>(size), from);
      buffers.counts.push_back(static_cast<int>(std::min(left, piece)));
      buffers.places.push_back(static_cast<int>(place));
      place += std::min(left, piece);
    }
    buffers.received.resize(place);
    buffers.sent = bytes.substr(std::min(from, bytes.size()), piece);
    complete(patience, [&](MPI_Request& request) {
      return MPI_Iallgatherv(buffers.sent.data(), static_cast<int>(buffers.sent.size()), MPI_BYTE,
                             buffers.received.data(), buffers.counts.data(), buffers.places.data(),
                             MPI_BYTE, MPI_COMM_WORLD, &request);
    });
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      all[rank].append(buffers.received, static_cast<std::size_t>(buffers.places[rank]),
                       static_cast<std::size_t>(buffers.counts[rank]));
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
extern "C" SEAM_EXPORT seam::Ranks* seam_join_ranks() {
  return std::make_unique<seam::mpi::MpiRanks>().release();
}
