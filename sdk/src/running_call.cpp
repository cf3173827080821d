#include "running_call.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace seam::host {
namespace {

constexpr int internal_error = 5;  // as in docs/exit-codes.md

// Global state, because exit and signal handlers cannot reach it in any other way.
thread_local const RunningCall* innermost = nullptr;
std::atomic<void (*)(const RunningCall&)> told = nullptr;
const pid_t home = ::getpid();

[[noreturn]] void end_at_once(int status) {
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

/// Whether the thread that ends the program is in a stage's call. Child processes that a stage
/// forks are ignored.
const RunningCall* ending_call() {
  return ::getpid() == home ? innermost : nullptr;
}

[[noreturn]] void refuse_end(const RunningCall& call) {
  innermost = nullptr;
  if (auto* const tell = told.load()) tell(call);
  std::string text = "seam: error: stage '" + call.stage + "' (" + call.type +
                     ") ended the program while " + std::string(call.doing);
  if (call.packet != nullptr) text += ", working on " + call.packet->origin().text();
  text += "; a stage must return, or throw seam::Error\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  end_at_once(internal_error);
}

void at_end() {
  if (const RunningCall* call = ending_call()) refuse_end(*call);
}

}  // namespace

RunningCall::RunningCall(const std::string& stage_name, const std::string& stage_type,
                         std::string_view doing_what, const Packet* its_packet)
    : stage(stage_name),
      type(stage_type),
      doing(doing_what),
      packet(its_packet),
      outer_(innermost) {
  // Registered after the plugin's handlers and static objects, so that it runs before them.
  [[maybe_unused]] static const bool registered =
      std::atexit(at_end) == 0 && std::at_quick_exit(at_end) == 0;
  innermost = this;
}

RunningCall::~RunningCall() {
  innermost = outer_;
}

const RunningCall* current_call() {
  return innermost;
}

void tell_of_stages_that_end_the_program(void (*tell)(const RunningCall&)) {
  told = tell;
}

}  // namespace seam::host

// Overrides the C library's function, which would end the program without a message.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): its name is given
extern "C" SEAM_EXPORT void _exit(int status) {
  if (const seam::host::RunningCall* call = seam::host::ending_call()) {
    seam::host::refuse_end(*call);
  }
  seam::host::end_at_once(status);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" SEAM_EXPORT void _Exit(int status) noexcept {
  _exit(status);
}
