#include "tests/system/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace seam::test {
namespace fs = std::filesystem;
namespace {

std::pair<int, int> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

/// Appends available input; returns false at the end.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const fs::path& folder,
                 const std::map<std::string, std::string>& environment, Hangup hangup)
    : Program(SEAM_PROGRAM, arguments, folder, environment, hangup) {}

Program::Program(const std::string& file, const std::vector<std::string>& arguments,
                 const fs::path& folder, const std::map<std::string, std::string>& environment,
                 Hangup hangup) {
  std::vector<std::string> words{file};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('='));
    if (name == "SEAM_PLUGIN_PATH" || name == "XDG_CACHE_HOME" || environment.contains(name)) {
      continue;
    }
    variables.push_back(text);
  }
  // Data that the program caches between its runs belongs to the test.
  if (!environment.contains("XDG_CACHE_HOME")) {
    variables.push_back("XDG_CACHE_HOME=" + (fs::absolute(folder) / "cache").string());
  }
  for (const auto& [name, value] : environment) {
    std::string text = name;
    text += '=';
    text += value;
    variables.push_back(std::move(text));
  }
  const auto [out, out_write] = make_pipe();
  const auto [err, err_write] = make_pipe();
  out_ = out;
  err_ = err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out_write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err_write, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // However the test was started (such as with nohup), the program gets the other signals as usual.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&usual, number);
  if (hangup == Hangup::usual) sigaddset(&usual, SIGHUP);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);  // a separate group
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const auto of_test = std::signal(SIGHUP, hangup == Hangup::ignored ? SIG_IGN : SIG_DFL);
  const int failed = ::posix_spawn(&process_, file.c_str(), &actions, &attributes,
                                   pointers(words).data(), pointers(variables).data());
  std::signal(SIGHUP, of_test);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(out_write);
  ::close(err_write);
  if (failed != 0) throw std::runtime_error("cannot start " + file);
}

Program::~Program() {
  close_output();
  ::close(err_);
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
}

void Program::signal(int number) const {
  ::kill(process_, number);
}

void Program::signal_group(int number) const {
  ::kill(-process_, number);
}

void Program::wait_for_error_text(const std::string& text) {
  while (err_text_.find(text) == std::string::npos) {
    if (!read_some(err_, err_text_)) {
      throw std::runtime_error("the program ended without saying '" + text + "':\n" + err_text_);
    }
  }
}

void Program::close_output() {
  if (out_ >= 0) ::close(out_);
  out_ = -1;
}

namespace {

// Milliseconds.
constexpr int between_signals = 20;
constexpr int between_requests = 310;  // signals within 300 ms are one request
constexpr int for_an_answer = 5000;

}  // namespace

void Program::request_until_error_text(int number, const std::string& text) {
  int patience = between_requests;
  while (err_text_.find(text) == std::string::npos) {
    pollfd written{err_, POLLIN, 0};
    if (::poll(&written, 1, patience) == 0) {
      signal(number);
      patience = for_an_answer;
    } else if (!read_some(err_, err_text_)) {
      throw std::runtime_error("the program ended without saying '" + text + "':\n" + err_text_);
    }
  }
}

Finished Program::finish() {
  return finish_with(std::nullopt);
}

Finished Program::signal_until_end(int number) {
  return finish_with(number);
}

Finished Program::finish_with(std::optional<int> number) {
  Finished finished;
  finished.err = err_text_;
  // Both at once: a program that fills one pipe while the other is read would block forever.
  std::array<pollfd, 2> open{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (number) signal(*number);
    ::poll(open.data(), open.size(), number ? between_signals : -1);
    if (open[0].revents != 0 && !read_some(out_, finished.out)) open[0].fd = -1;
    if (open[1].revents != 0 && !read_some(err_, finished.err)) open[1].fd = -1;
  }
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  EXPECT_NE(finished.exit_code, 1) << "docs/exit-codes.md: Seam never exits with 1\n"
                                   << finished.err;
  return finished;
}

Finished seam(const std::vector<std::string>& arguments, const fs::path& folder,
              const std::map<std::string, std::string>& environment) {
  return Program(arguments, folder, environment).finish();
}

Finished shell(const std::string& command, const fs::path& folder,
               const std::map<std::string, std::string>& environment) {
  return Program("/bin/sh", {"-c", command}, folder, environment, Hangup::usual).finish();
}

Gate::Gate(fs::path folder) : folder_(std::move(folder)) {
  fs::create_directories(folder_);
  for (const char* name : {"reached", "go"}) {
    if (::mkfifo((folder_ / name).c_str(), 0600) != 0) throw std::runtime_error("no FIFO");
  }
}

void Gate::wait_until_reached() const {
  ::close(::open((folder_ / "reached").c_str(), O_RDONLY | O_CLOEXEC));
}

void Gate::open() const {
  ::close(::open((folder_ / "go").c_str(), O_WRONLY | O_CLOEXEC));
}

void Gate::remove() const {
  fs::remove(folder_ / "reached");
  fs::remove(folder_ / "go");
}

std::string counting_pipeline() {
  return text_of_file(SEAM_SOURCE "/tests/system/counting.toml");
}

std::vector<double> values_of(const std::string& metrics, const std::string& stage,
                              const std::string& name, std::optional<int> epoch) {
  const std::string of_epoch = epoch ? "\"epoch\":" + std::to_string(*epoch) + "," : "";
  const std::string of_metric = R"("stage":")" + stage + R"(","name":")" + name + R"(",)";
  const std::string before = "\"value\":";
  std::vector<double> values;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(of_metric) == std::string::npos) continue;
    if (line.find(of_epoch) == std::string::npos) continue;
    values.push_back(std::stod(line.substr(line.rfind(before) + before.size())));
  }
  return values;
}

void wait_for_text(const std::filesystem::path& file, const std::string& text) {
  while (text_of_file(file).find(text) == std::string::npos) std::this_thread::yield();
}

}  // namespace seam::test
