#include "pipeline/run/trace.hpp"

#include <fcntl.h>

#include <fstream>
#include <regex>
#include <span>
#include <utility>

#include "pipeline/text/json.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace {

constexpr std::size_t bytes_of_a_write = std::size_t{1} << 20;

/// With nanosecond resolution.
double microseconds(std::chrono::steady_clock::duration time) {
  constexpr double of_a_microsecond = 1000;
  return static_cast<double>(std::chrono::nanoseconds(time).count()) / of_a_microsecond;
}

/// Returns `path`, unless another file than a trace would be lost.
const std::filesystem::path& replaceable(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return path;
  std::string line;
  std::getline(std::ifstream(path), line);
  if (line == "[" || std::filesystem::file_size(path) == 0) return path;
  refuse("'{}' exists and is not a trace; name another file, or delete this one", path.string());
}

}  // namespace

bool is_traceparent(std::string_view text) {
  // Version ff, a trace or caller of zeros, and more than the flags in version 00 are invalid.
  static const std::regex form(
      "(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}-?");
  const std::string_view begin = text.substr(0, 56);  // with the dash that may follow the flags
  return std::regex_match(begin.begin(), begin.end(), form);
}

Trace::Trace(const std::filesystem::path& path, const std::string& traceparent)
    : file_(replaceable(path), O_WRONLY | O_CREAT | O_TRUNC),
      began_(std::chrono::steady_clock::now()) {
  waiting_ = "[";
  if (!traceparent.empty()) {
    add(json_line({{"name", "process_name"},
                   {"ph", "M"},
                   {"pid", 1},
                   {"args", {{"name", "seam, traceparent " + traceparent}}}}));
  }
  flush();
  if (error_) throw Error(*error_);
}

void Trace::called(const StageCall& call) {
  const std::lock_guard lock(mutex_);
  if (error_) return;
  const int thread = thread_number(call);
  Json arguments{{"packet", call.sequence}};
  if (call.memory.in_use > 0) {
    arguments["tensor_bytes_peak"] = call.memory.peak;
    arguments["tensor_bytes_kept"] = call.memory.kept;
    add(json_line({{"name", "tensor bytes in use"},
                   {"ph", "C"},
                   {"ts", microseconds(call.from - began_)},
                   {"pid", 1},
                   {"args", {{"most in a call", call.memory.in_use}}}}));
  }
  add(json_line({{"name", std::string(call.stage)},
                 {"cat", std::string(call.flow)},
                 {"ph", "X"},
                 {"ts", microseconds(call.from - began_)},
                 {"dur", microseconds(call.to - call.from)},
                 {"pid", 1},
                 {"tid", thread},
                 {"args", std::move(arguments)}}));
  if (waiting_.size() >= bytes_of_a_write) flush();
}

std::optional<Error> Trace::finish() {
  const std::lock_guard lock(mutex_);
  waiting_ += "\n]\n";
  flush();
  return error_;
}

/// Returns the number of the thread; assigns it and writes the thread's name on first use.
int Trace::thread_number(const StageCall& call) {
  const auto [place, added] =
      threads_.try_emplace(std::this_thread::get_id(), static_cast<int>(threads_.size()) + 1);
  if (added) {
    const std::string name =
        call.compute_thread ? "compute" : "worker " + std::to_string(place->second);
    add(json_line({{"name", "thread_name"},
                   {"ph", "M"},
                   {"pid", 1},
                   {"tid", place->second},
                   {"args", {{"name", name}}}}));
  }
  return place->second;
}

void Trace::add(const std::string& event) {
  waiting_ += empty_ ? "\n" : ",\n";
  empty_ = false;
  waiting_ += event;
}

void Trace::flush() {
  if (error_) return;
  try {
    file_.write(std::as_bytes(std::span(waiting_)));
  } catch (const Error& error) {
    error_ = error;
  }
  waiting_.clear();
}

}  // namespace seam::host
