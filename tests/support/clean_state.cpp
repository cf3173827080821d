// A listener that fails each case that leaves the state of the process changed, and restores the
// state: the cases of a program share a process, and no case may depend on another.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace seam::test {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<int, const char*>, 5> watched_signals{{{SIGINT, "SIGINT"},
                                                                      {SIGTERM, "SIGTERM"},
                                                                      {SIGHUP, "SIGHUP"},
                                                                      {SIGXFSZ, "SIGXFSZ"},
                                                                      {SIGPIPE, "SIGPIPE"}}};
constexpr std::array<std::pair<decltype(RLIMIT_FSIZE), const char*>, 2> watched_limits{
    {{RLIMIT_FSIZE, "RLIMIT_FSIZE"}, {RLIMIT_NOFILE, "RLIMIT_NOFILE"}}};

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

mode_t file_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

struct State {
  std::map<std::string, std::string> variables = environment();
  fs::path folder;
  mode_t mask = file_mask();
  std::array<rlimit, watched_limits.size()> limits{};
  std::array<struct sigaction, watched_signals.size()> actions{};
  sigset_t blocked{};

  State() {
    std::error_code gone;
    folder = fs::current_path(gone);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      ::getrlimit(watched_limits[i].first, &limits[i]);
    }
    for (std::size_t i = 0; i < actions.size(); ++i) {
      ::sigaction(watched_signals[i].first, nullptr, &actions[i]);
    }
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  }
};

class CleanState final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo& /*info*/) override { before_ = State(); }

  void OnTestEnd(const ::testing::TestInfo& /*info*/) override {
    const State after;
    compare_variables(after);
    if (after.folder != before_.folder) {
      report("the current folder");
      std::error_code gone;
      fs::current_path(before_.folder, gone);
    }
    if (after.mask != before_.mask) {
      report("the umask");
      ::umask(before_.mask);
    }
    for (std::size_t i = 0; i < watched_limits.size(); ++i) {
      const rlimit& old = before_.limits[i];
      if (after.limits[i].rlim_cur == old.rlim_cur && after.limits[i].rlim_max == old.rlim_max) {
        continue;
      }
      report(watched_limits[i].second);
      ::setrlimit(watched_limits[i].first, &old);
    }
    compare_signals(after);
  }

 private:
  static void report(const std::string& what) {
    ADD_FAILURE() << "the case changes " << what << " and does not restore it";
  }

  void compare_variables(const State& after) const {
    for (const auto& [name, value] : before_.variables) {
      const auto now = after.variables.find(name);
      if (now != after.variables.end() && now->second == value) continue;
      report("the environment variable " + name);
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    for (const auto& [name, value] : after.variables) {
      if (before_.variables.count(name) > 0) continue;
      report("the environment variable " + name);
      ::unsetenv(name.c_str());
    }
  }

  void compare_signals(const State& after) const {
    bool same_mask = true;
    for (std::size_t i = 0; i < watched_signals.size(); ++i) {
      const auto& [signal, name] = watched_signals[i];
      const struct sigaction& old = before_.actions[i];
      same_mask &= ::sigismember(&after.blocked, signal) == ::sigismember(&before_.blocked, signal);
      if (after.actions[i].sa_handler == old.sa_handler) continue;
      report(std::string("the handler of ") + name);
      ::sigaction(signal, &old, nullptr);
    }
    if (same_mask) return;
    report("the blocked signals");
    ::pthread_sigmask(SIG_SETMASK, &before_.blocked, nullptr);
  }

  State before_;
};

// GoogleTest calls the listeners in reverse order when a case ends, so this one before the printer.
const bool registered = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new CleanState);
  return true;
}();

}  // namespace
}  // namespace seam::test
