/// Tracks which stage's code each thread runs, to name it if it crashes (without an exception) or
/// ends the program.
///
///     StageRunner ──► RunningCall ──► the stage's method
///                        ▲ current_call(), on the same thread, also from a signal handler
#pragma once

#include <string>
#include <string_view>

#include "seam/export.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// A call of a stage's method, during its lifetime. The objects that it points to belong to the
/// caller.
class SEAM_EXPORT RunningCall {
 public:
  RunningCall(const std::string& stage, const std::string& type, std::string_view doing,
              const Packet* packet);
  ~RunningCall();
  RunningCall& operator=(RunningCall&&) = delete;  // not copyable

  const std::string& stage;
  const std::string& type;
  std::string_view doing;  ///< "processing a packet"
  const Packet* packet;    ///< null: none

 private:
  const RunningCall* outer_;
};

/// The innermost call of the current thread; null: none. Safe in a signal handler.
[[nodiscard]] SEAM_EXPORT const RunningCall* current_call();

/// Calls `tell` if a stage ends the program by exit(), quick_exit() or _exit(), or with null if a
/// thread that is not in a stage's call does. The program then exits with 5, so that a batch system
/// does not see the stage's 0.
SEAM_EXPORT void tell_of_stages_that_end_the_program(void (*tell)(const RunningCall*));

/// Ends the program on behalf of the host, without calling `tell`.
[[noreturn]] SEAM_EXPORT void end_program(int exit_code);

}  // namespace seam::host
