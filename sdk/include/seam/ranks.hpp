// SPDX-License-Identifier: Apache-2.0
/// The processes that compute one run together (seam::Ranks). Each of them does all of the work,
/// except for the lanes of networks that are another rank's (<seam/lanes.hpp>).
///
///     rank 0:  what, bytes ─┐
///     rank 1:  what, bytes ─┼─► do all say the same? ─► the bytes of all ranks, on each of them
///     rank 2:  what, bytes ─┘                └──► an error that names the rank, on each of them
///
/// With all_to_all(), a rank has different bytes for each of the others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "seam/error.hpp"
#include "seam/export.hpp"

namespace seam {

/// How long ranks wait for each other.
enum class Patience : std::uint8_t {
  step,  ///< minutes: all of them do the same work before the exchange
  flow,  ///< a day: one may read its images, evaluate, or open its stages, much more slowly
};

/// The exchanges of a rank within flows (Patience::step).
struct Exchanged {
  std::uint64_t bytes = 0;  ///< received from the other ranks
  double seconds = 0;       ///< until they were there: waiting for other ranks, and for the network
};

/// One rank's end of the connection. Calls may come from any thread, but not from two at once,
/// except for ask_to_stop() and is_broken().
class SEAM_EXPORT Ranks {
 public:
  virtual ~Ranks();
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// From 0, below world().
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world() const = 0;

  /// The bytes of all ranks, in their order. `what` names the exchange, and says in words what must
  /// be the same on all ranks. Throws seam::Error, on all ranks alike, if a rank failed (with the
  /// cause that it gave) or does something else; the ranks have parted then. Throws on this rank if
  /// another one does not answer.
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& what, std::string_view bytes,
                                                    Patience patience = Patience::step);

  /// The bytes that each rank has for this one, in their order; `for_each` are those that this one
  /// has for each of them. Otherwise like all_gather().
  [[nodiscard]] std::vector<std::string> all_to_all(const std::string& what,
                                                    const std::vector<std::string>& for_each);

  /// Tells the other ranks that this one fails, so that their next exchange does. Returns whether
  /// all of them know: if not, they are busy, and the caller ends the job by abort(). Nothing to do
  /// for a rank whose last exchange has failed.
  [[nodiscard]] bool fail(const Error& error) noexcept;

  /// Whether an exchange has failed on all ranks alike.
  [[nodiscard]] bool parted() const { return parted_; }
  /// Whether an exchange has failed, so that this rank cannot compute anything more.
  [[nodiscard]] bool is_broken() const { return broken_; }

  /// Asks all ranks to stop.
  void ask_to_stop() { asked_ = true; }
  /// Whether a rank had asked to stop before the last exchange: the same on all ranks.
  [[nodiscard]] bool shall_stop() const { return shall_stop_; }

  /// By this rank, so far.
  [[nodiscard]] const Exchanged& exchanged() const { return exchanged_; }

  /// Ends the processes of all ranks at once, without destructors.
  [[noreturn]] virtual void abort(int exit_code) = 0;

 protected:
  /// The bytes of all ranks. Throws seam::Error (data) if they are not there in time.
  [[nodiscard]] virtual std::vector<std::string> exchange(std::string_view bytes,
                                                          std::chrono::milliseconds patience) = 0;

  /// The same for all_to_all().
  [[nodiscard]] virtual std::vector<std::string> exchange_each(
      const std::vector<std::string>& for_each, std::chrono::milliseconds patience) = 0;

 private:
  using Bytes = std::vector<std::string>;

  /// What `exchange` returns, once all ranks have said the same.
  template <class Exchange>
  [[nodiscard]] Bytes exchanged(const std::string& what, Patience patience,
                                const Exchange& exchange);
  /// Throws unless all ranks say the same.
  void agree(const std::string& what, std::chrono::milliseconds patience);

  Exchanged exchanged_;
  std::uint64_t calls_ = 0;
  bool parted_ = false;
  bool shall_stop_ = false;
  std::atomic<bool> asked_ = false;
  std::atomic<bool> broken_ = false;
};

}  // namespace seam
