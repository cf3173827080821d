/// The real program in a separate process.
///
///     Program seam({"run", file});
///     seam.wait_for_error_text("stopping");     reads its stderr until the text appears
///     seam.signal(SIGINT);
///     Finished result = seam.finish();          exit code, all of stdout and stderr
///
/// Nothing sleeps: a test waits for what the program writes, or at a FIFO.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/text.hpp"

namespace seam::test {

struct Finished {
  int exit_code = -1;  ///< or -1 if a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

/// The effect of SIGHUP on a program that does not handle it.
enum class Hangup : std::uint8_t {
  usual,
  ignored,  ///< as under nohup
};

class Program {
 public:
  /// Starts `seam` with these arguments, in `folder`. The environment is that of the test, without
  /// SEAM_PLUGIN_PATH, plus `environment`.
  Program(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
          const std::map<std::string, std::string>& environment = {},
          Hangup hangup = Hangup::usual);
  /// Starts another program in the same way.
  Program(const std::string& file, const std::vector<std::string>& arguments,
          const std::filesystem::path& folder,
          const std::map<std::string, std::string>& environment, Hangup hangup);
  /// Kills the process if it is still running.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void signal(int number) const;
  /// Signals the process and the processes that it started in its group.
  void signal_group(int number) const;
  /// Reads the standard error until it contains the text; throws if it ends before.
  void wait_for_error_text(const std::string& text);
  /// Closes this side of its standard output: further output has no reader.
  void close_output();
  /// Sends the signal so late that it counts as a separate request, and reads the standard error
  /// until it contains the text.
  void request_until_error_text(int number, const std::string& text);
  /// Sends the signal repeatedly until the process ends.
  Finished signal_until_end(int number);
  /// Waits for its end. The test fails if its exit code is 1, which Seam never uses.
  Finished finish();

 private:
  Finished finish_with(std::optional<int> number);

  pid_t process_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string err_text_;
};

/// Starts the program and waits for its end.
Finished seam(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
              const std::map<std::string, std::string>& environment = {});

/// Runs a command of the shell and waits for its end.
Finished shell(const std::string& command, const std::filesystem::path& folder,
               const std::map<std::string, std::string>& environment);

/// The two FIFOs at which test.gate waits.
class Gate {
 public:
  explicit Gate(std::filesystem::path folder);
  /// Waits until a stage is at the gate.
  void wait_until_reached() const;
  /// Lets the stage continue.
  void open() const;
  /// Removes the gate: later stages do not wait.
  void remove() const;

 private:
  std::filesystem::path folder_;
};

/// counting.toml: it counts 40 packets and adds them up in four epochs, with a gate in the third
/// epoch and a stage that can be configured to fail.
std::string counting_pipeline();

/// The values of a metric in the text of a metrics.jsonl, of all epochs or of one.
std::vector<double> values_of(const std::string& metrics, const std::string& stage,
                              const std::string& name, std::optional<int> epoch = {});

/// Reads a file that another process writes until it contains the text.
void wait_for_text(const std::filesystem::path& file, const std::string& text);

}  // namespace seam::test
