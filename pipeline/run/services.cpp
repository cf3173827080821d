#include "pipeline/run/services.hpp"

#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <system_error>
#include <utility>

#include "pipeline/run/clock.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

std::uint64_t bytes_in(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error ? 0 : size;
}

/// "Recall at K (items)" as part of a file's name: "recall-at-k-items".
std::string slug(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  while (result.ends_with('-')) result.pop_back();
  return result;
}

}  // namespace

RunServices::RunServices(Display& display, const StopState* stop, const fs::path& log,
                         fs::path filed_in, Reports reports)
    : display_(display),
      stop_(stop),
      log_(log, bytes_in(log)),
      filed_in_(std::move(filed_in)),
      reports_(reports) {}

void RunServices::write_log(LogLevel level, std::string_view stage, std::string_view text) {
  std::string line =
      fmt::format("{} {:<7} ", time_text(std::chrono::system_clock::now()), level_text(level));
  if (!stage.empty()) line += fmt::format("[{}] ", stage);
  for (const char c : text) {
    line += c;
    if (c == '\n') line += "    ";  // a line that begins with a blank continues the previous one
  }
  const std::lock_guard lock(mutex_);
  if (log_failed_) return;
  try {
    log_.append(line + "\n");
  } catch (const Error& error) {
    log_failed_ = true;  // the run continues without a log; reported once
    display_.message(fmt::format("run.log ends here: {}", error.what()));
  }
}

void RunServices::log(LogLevel level, std::string_view stage, std::string_view text) {
  write_log(level, stage, text);
  if (level == LogLevel::warning && warnings_ == Reports::filed) return;
  display_.log(level, stage, text);
}

void RunServices::metric(std::string_view stage, std::string_view name, double value) {
  metrics_.record(stage, name, value);
}

void RunServices::report(std::string_view stage, std::string_view title, std::string_view text) {
  fs::path file;
  {
    const std::lock_guard lock(mutex_);
    std::string name = report_prefix_ + slug(stage) + "-" + slug(title);
    const int times = ++report_names_[name];
    if (times > 1) name += "-" + std::to_string(times);
    file = filed_in_ / (name + ".md");
  }
  std::error_code made;
  fs::create_directories(filed_in_, made);
  if (made) throw Error("cannot create '" + filed_in_.string() + "': " + made.message());
  write_whole_file(file,
                   fmt::format("# {}\n\n{}{}", title, text, text.ends_with('\n') ? "" : "\n"));
  if (reports_ == Reports::shown) display_.report(stage, title, text);
}

bool RunServices::stop_requested() const {
  return stop_ != nullptr && (stop_->soon || stop_->cancel);
}

void RunServices::note(std::string_view text) {
  write_log(LogLevel::info, "", text);
  display_.note(text);
}

void RunServices::message(LogLevel level, std::string_view text) {
  write_log(level, "", text);
  display_.message(text);
}

void RunServices::flow_begins(const std::string& moment, const std::string& flow,
                              Reports warnings) {
  warnings_ = warnings;
  const std::lock_guard lock(mutex_);
  if (moment != moment_) report_names_.clear();
  moment_ = moment;
  report_prefix_ = moment + "-" + slug(flow) + "-";
}

}  // namespace seam::host
