#include "pipeline/run/event_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "pipeline/tensorboard/event.hpp"
#include "pipeline/tensorboard/record.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
using tensorboard::EventHead;
using tensorboard::EventKind;
namespace {

constexpr std::string_view event_name_begin = "events.out.tfevents.";

/// Sorted by name, the order in which TensorBoard reads them.
std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(event_name_begin))
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// The time in a file's name; 0 if there is none.
std::int64_t time_of(const fs::path& file) {
  const std::string name = file.filename().string();
  std::int64_t time = 0;
  std::from_chars(name.data() + event_name_begin.size(), name.data() + name.size(), time);
  return time;
}

std::string host_name() {
  std::array<char, 256> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0 || buffer.front() == '\0') {
    return "localhost";
  }
  std::string name = buffer.data();
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '.') c = '_';
  }
  return name;
}

/// A name that sorts after those of the earlier files, even if the clock was set back.
fs::path next_file(const fs::path& folder, const std::vector<fs::path>& earlier) {
  auto time = static_cast<std::int64_t>(wall_time_now());
  for (const fs::path& file : earlier) time = std::max(time, time_of(file) + 1);
  return folder / fmt::format("{}{:010}.{}.{}", event_name_begin, time, host_name(), ::getpid());
}

/// Calls `take` for each event of the files. A damaged or incomplete event ends its file, as in
/// TensorBoard.
void read_events(const std::vector<fs::path>& files,
                 const std::function<void(const EventHead&, std::string&&)>& take) {
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      throw Error("cannot open '" + file.string() +
                  "', which this run wrote for TensorBoard; make it readable or remove it");
    }
    tensorboard::read_records(stream, [&](std::string&& event) {
      if (const auto head = tensorboard::read_event(event)) take(*head, std::move(event));
    });
    if (stream.bad()) throw Error("cannot read '" + file.string() + "'");
  }
}

/// Returns the summaries from `step` on that belong to the checkpoint; nullopt if the files do not
/// mention it, because the process that wrote it wrote no event file.
std::optional<std::vector<std::string>> summaries_of(const std::vector<fs::path>& files,
                                                     const EventFile::Resume& resume) {
  std::uint64_t number = 0;
  std::optional<std::uint64_t> at;  // its last mention: a run that went back may repeat it
  read_events(files, [&](const EventHead& head, std::string&&) {
    ++number;
    if (head.kind == EventKind::checkpoint && head.checkpoint == resume.checkpoint) at = number;
  });
  if (!at) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::string>> kept;
  number = 0;
  read_events(files, [&](const EventHead& head, std::string&& event) {
    if (++number >= *at) return;
    if (head.kind == EventKind::start) {
      std::erase_if(kept, [&](const auto& one) { return one.first >= head.step; });
    } else if (head.kind == EventKind::summary && head.step >= resume.step) {
      kept.emplace_back(head.step, std::move(event));
    }
  });
  std::vector<std::string> events;
  for (auto& [step, event] : kept) events.push_back(std::move(event));
  return events;
}

/// The first events of a process. They always include a START: TensorBoard takes the first one of a
/// run as its beginning, and discards events at the later ones.
std::vector<std::string> first_events(const std::vector<fs::path>& earlier,
                                      const EventFile::Resume& resume) {
  std::vector<std::string> events{tensorboard::version_event(wall_time_now())};
  if (resume.checkpoint.empty()) {
    events.push_back(tensorboard::start_event({wall_time_now(), 0}));
    return events;
  }
  auto kept = summaries_of(earlier, resume);
  // If the checkpoint is not mentioned, events at its own step may belong to it.
  const std::int64_t from = kept ? resume.step : resume.step + 1;
  events.push_back(tensorboard::start_event({wall_time_now(), from}));
  if (kept) std::ranges::move(*kept, std::back_inserter(events));
  return events;
}

}  // namespace

double wall_time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

EventFile::EventFile(const fs::path& folder, const Resume& resume)
    : EventFile(folder, event_files(folder), resume) {}

EventFile::EventFile(const fs::path& folder, const std::vector<fs::path>& earlier,
                     const Resume& resume)
    : file_(next_file(folder, earlier), 0) {
  append(first_events(earlier, resume));
}

void EventFile::append(const std::vector<std::string>& events) {
  std::string records;
  for (const std::string& event : events) records += tensorboard::record(event);
  file_.append(records);
}

}  // namespace seam::host
