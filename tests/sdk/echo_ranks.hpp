/// One of two ranks, without the other one.
#pragma once

#include <seam/ranks.hpp>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace seam::testing {

/// The other rank says the same as this one, unless the test changes it.
class EchoRanks final : public Ranks {
 public:
  explicit EchoRanks(int rank = 0) : rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world() const override { return 2; }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

  /// Returns the other rank's bytes; may throw.
  std::function<std::string(std::string)> other = [](std::string bytes) { return bytes; };

 protected:
  std::vector<std::string> exchange(std::string_view bytes,
                                    std::chrono::milliseconds /*patience*/) override {
    std::vector<std::string> all(2, std::string(bytes));
    all[rank_ == 0 ? 1 : 0] = other(std::string(bytes));
    return all;
  }
  std::vector<std::string> exchange_each(const std::vector<std::string>& for_each,
                                         std::chrono::milliseconds patience) override {
    return exchange(for_each.at(static_cast<std::size_t>(rank_)), patience);
  }

 private:
  int rank_;
};

}  // namespace seam::testing
