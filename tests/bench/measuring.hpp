/// Shared by benchmark programs: options, a clock, medians and peak memory.
///
///     program --images 2000 --k 10 ──► Options ──► numbers
///     program restarts itself with --memory WAY ──► the peak of only that way
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace seam::bench {

/// "--name value" pairs that override defaults.
class Options {
 public:
  /// Throws std::invalid_argument for a name without a default, and for one without a value.
  Options(int count, char** arguments, std::map<std::string, std::string> defaults)
      : values_(std::move(defaults)) {
    for (int i = 1; i < count; i += 2) {
      const auto found = values_.find(arguments[i]);
      if (found == values_.end() || i + 1 == count) refuse(arguments[i]);
      found->second = arguments[i + 1];
    }
  }

  [[nodiscard]] const std::string& text(const std::string& name) const { return values_.at(name); }
  [[nodiscard]] std::int64_t number(const std::string& name) const {
    return std::stoll(values_.at(name));
  }
  /// Throws std::invalid_argument for a number below 1.
  [[nodiscard]] std::int64_t count(const std::string& name) const {
    if (number(name) < 1) throw std::invalid_argument(name + " must be at least 1");
    return number(name);
  }

 private:
  [[noreturn]] void refuse(const std::string& name) const {
    std::string message = "unknown option " + name + ", or no value; known:";
    for (const auto& [known, value] : values_)
      message.append(" ").append(known).append(" " + value);
    throw std::invalid_argument(message);
  }

  std::map<std::string, std::string> values_;
};

class Clock {
 public:
  /// Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> taken = now - last_;
    last_ = now;
    return taken.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The largest resident set of the process so far, or since forget_peak(). Not from getrusage,
/// which starts with the peak of the parent process.
inline double peak_mebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  throw std::runtime_error("/proc/self/status does not say how much memory the process took");
}

/// Resets the peak to the current resident set.
inline void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

/// Returns the first number that a program prints, or -1 if it prints none. Runs it in a new
/// process, because OpenMP does not survive a fork.
inline double number_from(const std::string& program, const std::string& arguments) {
  std::FILE* const pipe = popen(("'" + program + "' " + arguments).c_str(), "r");
  double result = 0;
  if (pipe == nullptr || std::fscanf(pipe, "%lf", &result) != 1) result = -1;
  if (pipe != nullptr) pclose(pipe);
  return result;
}

/// The body of main(): prints exceptions of `measure` to stderr and returns an error code.
inline int run(void (*measure)(int, char**), int count, char** arguments) {
  try {
    measure(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace seam::bench
