#include "running_call.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <utility>

namespace seam::host {
namespace {

constexpr int internal_error = 5;  // as in docs/exit-codes.md

// Global state, because exit and signal handlers cannot reach it in any other way.
thread_local const RunningCall* innermost = nullptr;
using Listener = void (*)(const RunningCall*);
std::atomic<Listener> told = nullptr;
const pid_t home = ::getpid();

[[noreturn]] void end_at_once(int status) {
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

[[noreturn]] void refuse_end() {
  const RunningCall* const call = std::exchange(innermost, nullptr);
  if (auto* const tell = told.exchange(nullptr)) tell(call);
  std::string text = "seam: error: ";
  if (call == nullptr) {
    text += "a thread of a plugin ended the program during the run; a plugin must not do that\n";
  } else {
    text += "stage '" + call->stage + "' (" + call->type + ") ended the program while " +
            std::string(call->doing);
    if (call->packet != nullptr) text += ", working on " + call->packet->origin().text();
    text += "; a stage must return, or throw seam::Error\n";
  }
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  end_at_once(internal_error);
}

/// Returns only if the program may end. Child processes that a stage forks are ignored.
void at_end() {
  if (::getpid() != home) return;
  if (innermost != nullptr || told.load() != nullptr) refuse_end();
}

/// Registers at_end() after the handlers and static objects of the plugins that are loaded by then,
/// so that it runs before them.
void watch_the_end() {
  [[maybe_unused]] static const bool registered =
      std::atexit(at_end) == 0 && std::at_quick_exit(at_end) == 0;
}

}  // namespace

RunningCall::RunningCall(const std::string& stage_name, const std::string& stage_type,
                         std::string_view doing_what, const Packet* its_packet)
    : stage(stage_name),
      type(stage_type),
      doing(doing_what),
      packet(its_packet),
      outer_(innermost) {
  watch_the_end();
  innermost = this;
}

RunningCall::~RunningCall() {
  innermost = outer_;
}

const RunningCall* current_call() {
  return innermost;
}

void tell_of_stages_that_end_the_program(void (*tell)(const RunningCall*)) {
  watch_the_end();
  told = tell;
}

void end_program(int exit_code) {
  end_at_once(exit_code);
}

}  // namespace seam::host

// Overrides the C library's function, which would end the program without a message.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): its name is given
extern "C" SEAM_EXPORT void _exit(int status) {
  seam::host::at_end();
  seam::host::end_at_once(status);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" SEAM_EXPORT void _Exit(int status) noexcept {
  _exit(status);
}
