/// Ranks that are threads of one process. One of them computes at a time, because LibTorch's
/// generator of random numbers belongs to the process.
#pragma once

#include <seam/ranks.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace seam::testing {

class ThreadRanks {
 public:
  explicit ThreadRanks(int world) : sent_(static_cast<std::size_t>(world)) {}

  /// Runs the function once per rank. It must not throw. If it returns on one rank while another
  /// waits for it, that one's exchange fails.
  void run(const std::function<void(Ranks&)>& of_rank) {
    arrived_ = 0;
    ended_ = false;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(sent_.size()); ++rank) {
      threads.emplace_back([&, rank] {
        End end(*this, rank);
        of_rank(end);
        ended_ = true;
        changed_.notify_all();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  /// Bytes that all ranks have sent.
  [[nodiscard]] std::size_t bytes_sent() const { return bytes_sent_; }

 private:
  using Sent = std::vector<std::vector<std::string>>;  // by sender and receiver

  class End final : public Ranks {
   public:
    End(ThreadRanks& all, int rank) : all_(all), rank_(rank), turn_(all.mutex_) {}
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int world() const override { return static_cast<int>(all_.sent_.size()); }
    [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

   protected:
    std::vector<std::string> exchange(std::string_view bytes,
                                      std::chrono::milliseconds patience) override {
      return exchange_each({all_.sent_.size(), std::string(bytes)}, patience);
    }
    std::vector<std::string> exchange_each(const std::vector<std::string>& for_each,
                                           std::chrono::milliseconds patience) override {
      return all_.exchange(static_cast<std::size_t>(rank_), for_each, patience, turn_);
    }

   private:
    ThreadRanks& all_;
    int rank_;
    std::unique_lock<std::mutex> turn_;
  };

  std::vector<std::string> exchange(std::size_t rank, const std::vector<std::string>& for_each,
                                    std::chrono::milliseconds patience,
                                    std::unique_lock<std::mutex>& turn) {
    const std::size_t round = round_;
    sent_[rank] = for_each;
    for (const std::string& bytes : for_each) bytes_sent_ += bytes.size();
    if (++arrived_ == sent_.size()) {
      received_ = std::make_shared<const Sent>(sent_);
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait_for(turn, patience, [&] { return round_ != round || ended_; });
      if (round_ == round) {
        --arrived_;
        throw Error("not all ranks are there");
      }
    }
    std::vector<std::string> received;  // the next round needs this rank
    for (const std::vector<std::string>& one : *received_) received.push_back(one.at(rank));
    return received;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Sent sent_;
  std::shared_ptr<const Sent> received_;
  std::size_t arrived_ = 0;
  std::size_t round_ = 0;
  std::size_t bytes_sent_ = 0;
  bool ended_ = false;  // the function has returned on a rank
};

}  // namespace seam::testing
