/// Which stage's code each thread is in: for a crash, which has no exception to name it, and for a
/// plugin that ends the program.
///
///     StageRunner ──► RunningCall ──► the stage's method
///                        ▲ current_call(), on the same thread, also from a signal handler
#pragma once

#include <string>
#include <string_view>

#include "seam/export.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// A call of a stage's method, for as long as it lasts. What it points to belongs to the caller.
class SEAM_EXPORT RunningCall {
 public:
  RunningCall(const std::string& stage, const std::string& type, std::string_view doing,
              const Packet* packet);
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
  RunningCall(RunningCall&&) = delete;
  RunningCall& operator=(RunningCall&&) = delete;

  const std::string& stage;
  const std::string& type;
  std::string_view doing;  ///< "processing a packet"
  const Packet* packet;    ///< null: it has none

 private:
  const RunningCall* outer_;
};

/// The innermost one of the calling thread; null: none. Safe in a signal handler.
[[nodiscard]] SEAM_EXPORT const RunningCall* current_call();

/// Calls `tell` before the program ends because a stage called exit(), quick_exit() or _exit();
/// with null if a thread did that which is in no stage's call. The program then exits with 5: what
/// a batch job sees must not be the stage's 0.
SEAM_EXPORT void tell_of_stages_that_end_the_program(void (*tell)(const RunningCall*));

/// How the host itself ends the program while it is to be told of others that do.
[[noreturn]] SEAM_EXPORT void end_program(int exit_code);

}  // namespace seam::host
