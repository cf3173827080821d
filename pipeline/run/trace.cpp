#include "pipeline/run/trace.hpp"

#include <fcntl.h>

#include <fstream>
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

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
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
  constexpr std::size_t version_end = 2;
  constexpr std::size_t trace_end = 35;
  constexpr std::size_t caller_end = 52;
  constexpr std::size_t size = 55;
  if (text.size() < size) return false;
  for (const std::size_t dash : {version_end, trace_end, caller_end}) {
    if (text[dash] != '-') return false;
  }
  const std::string_view version = text.substr(0, version_end);
  const std::string_view trace = text.substr(version_end + 1, trace_end - version_end - 1);
  const std::string_view caller = text.substr(trace_end + 1, caller_end - trace_end - 1);
  const std::string_view flags = text.substr(caller_end + 1, size - caller_end - 1);
  const bool ends = text.size() == size || (version != "00" && text[size] == '-');
  return ends && version != "ff" && is_hexadecimal(version) && is_hexadecimal(trace) &&
         !is_zero(trace) && is_hexadecimal(caller) && !is_zero(caller) && is_hexadecimal(flags);
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
