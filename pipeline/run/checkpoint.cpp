#include "pipeline/run/checkpoint.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "pipeline/run/checksum.hpp"
#include "pipeline/run/files.hpp"
#include "sdk/src/crc64.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view magic = "SEAMCKPT";
constexpr std::uint32_t format_version = 2;
const std::string mean_of = "mean of ";
constexpr std::uint32_t byte_order_mark = 0x01020304;
constexpr std::uint32_t other_byte_order_mark = 0x04030201;
constexpr std::size_t head_size = magic.size() + 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t checksum_size = sizeof(std::uint64_t);
constexpr std::string_view run_section = ":run";  // no stage's name has a colon

/// Counts the bytes that a checkpoint takes.
class Counter {
 public:
  void bytes(std::span<const std::byte> bytes) { size_ += bytes.size(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_ = 0;
};

/// Puts bytes into a file and into its checksum.
class Writer {
 public:
  explicit Writer(const fs::path& path) : file_(path) {}

  void bytes(std::span<const std::byte> bytes) {
    checksum_.add(bytes);
    // Entries are many and most are small; big ones go straight through.
    if (buffer_.size() + bytes.size() > buffer_limit) flush();
    if (bytes.size() > buffer_limit) {
      file_.write(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }

  void commit() {
    const std::uint64_t sum = checksum_.value();
    flush();
    file_.write(std::as_bytes(std::span(&sum, 1)));
    file_.commit();
  }

 private:
  static constexpr std::size_t buffer_limit = std::size_t{1} << 16U;

  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  WholeFile file_;
  Crc64 checksum_;
  std::vector<std::byte> buffer_;
};

template <class Out, class T>
requires std::is_arithmetic_v<T>
void put(Out& out, T number) {
  out.bytes(std::as_bytes(std::span(&number, 1)));
}

template <class Out>
void put(Out& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.bytes(std::as_bytes(std::span(text)));
}

template <class Out>
void put_section(Out& out, std::string_view name, std::string_view use, const Archive& archive) {
  put(out, name);
  put(out, use);
  put(out, static_cast<std::uint64_t>(archive.entries().size()));
  for (const auto& [entry_name, entry] : archive.entries()) {
    put(out, std::string_view(entry_name));
    put(out, std::string_view(entry.type));
    put(out, static_cast<std::uint32_t>(entry.shape.size()));
    for (const std::int64_t size : entry.shape) put(out, size);
    put(out, static_cast<std::uint64_t>(entry.bytes.size()));
    out.bytes(entry.bytes);
  }
}

/// The run's own section.
Archive run_archive(const Checkpoint& checkpoint) {
  const SchedulePosition& position = checkpoint.position;
  Archive archive;
  archive.put("before_done", std::int64_t{position.before_done});
  archive.put("epochs_done", position.epochs_done);
  archive.put("stopped_early", std::int64_t{position.stopped_early});
  if (position.best) archive.put("best", *position.best);
  archive.put("best_epochs", position.best_epochs);
  archive.put("without_gain", position.without_gain);
  archive.put("epochs_measured", position.epochs_measured);
  archive.put("after_done", std::int64_t{position.after_done});
  archive.put("metrics_size", static_cast<std::int64_t>(checkpoint.metrics_size));
  archive.put("timing_size", static_cast<std::int64_t>(checkpoint.timing_size));
  archive.put("skipped_size", static_cast<std::int64_t>(checkpoint.skipped_size));
  archive.put("skipped_packets", static_cast<std::int64_t>(checkpoint.skipped_packets));
  archive.put("trainings", checkpoint.trainings);
  for (const auto& [metric, mean] : checkpoint.means) archive.put(mean_of + metric, mean);
  archive.put("pipeline_hash", std::string_view(checkpoint.pipeline_hash));
  archive.put("plugins", std::string_view(checkpoint.plugins));
  return archive;
}

void take_run_archive(const Archive& archive, Checkpoint& checkpoint) {
  const auto count = [&](const char* name) {
    const std::int64_t number = archive.integer(name);
    if (number < 0) throw Error(std::string("its '") + name + "' is negative");
    return number;
  };
  const auto size = [&](const char* name) { return static_cast<std::uint64_t>(count(name)); };
  SchedulePosition& position = checkpoint.position;
  position.before_done = archive.integer("before_done") != 0;
  position.epochs_done = count("epochs_done");
  position.stopped_early = archive.integer("stopped_early") != 0;
  if (archive.has("best")) position.best = archive.number("best");
  position.best_epochs = count("best_epochs");
  position.without_gain = count("without_gain");
  position.epochs_measured = count("epochs_measured");
  position.after_done = archive.integer("after_done") != 0;
  checkpoint.metrics_size = size("metrics_size");
  checkpoint.timing_size = size("timing_size");
  checkpoint.skipped_size = size("skipped_size");
  checkpoint.skipped_packets = size("skipped_packets");
  checkpoint.trainings = count("trainings");
  for (const auto& [name, entry] : archive.entries()) {
    if (name.starts_with(mean_of)) {
      checkpoint.means[name.substr(mean_of.size())] = archive.number(name);
    }
  }
  checkpoint.pipeline_hash = archive.text("pipeline_hash");
  checkpoint.plugins = archive.text("plugins");
}

template <class Out>
void put_body(Out& out, const Checkpoint& checkpoint) {
  put(out, static_cast<std::uint32_t>(checkpoint.stages.size() + 1));
  put_section(out, run_section, "", run_archive(checkpoint));
  for (const StageState& stage : checkpoint.stages) {
    put_section(out, stage.name, stage.use, stage.archive);
  }
}

/// A checkpoint whose bytes are not those that were written.
class Damaged final : public Error {
 public:
  using Error::Error;
};

Damaged damaged(const fs::path& file, const std::string& how) {
  return Damaged("checkpoint '" + file.string() + "' is damaged: " + how);
}

/// Takes values off the front of a checkpoint, believing no size in it.
class Reader {
 public:
  Reader(const fs::path& file, std::span<const std::byte> bytes) : file_(file), rest_(bytes) {}

  std::span<const std::byte> bytes(std::uint64_t count) {
    if (count > rest_.size()) {
      throw damaged(file_, "it promises " + std::to_string(count) + " bytes where " +
                               std::to_string(rest_.size()) + " are left");
    }
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return taken;
  }

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::string text() {
    const auto taken = bytes(number<std::uint32_t>());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  StageState section() {
    StageState section;
    section.name = text();
    section.use = text();
    for (auto left = number<std::uint64_t>(); left > 0; --left) {
      const std::string name = text();
      Archive::Entry entry;
      entry.type = text();
      for (auto rank = number<std::uint32_t>(); rank > 0; --rank) {
        entry.shape.push_back(number<std::int64_t>());
      }
      const auto taken = bytes(number<std::uint64_t>());
      entry.bytes.assign(taken.begin(), taken.end());
      if (section.archive.has(name)) {
        throw damaged(file_, "section '" + section.name + "' has two entries '" + name + "'");
      }
      section.archive.put(name, std::move(entry));
    }
    return section;
  }

  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  const fs::path& file_;  // the caller's, outlives the reader
  std::span<const std::byte> rest_;
};

/// N of "epoch-N.seam"; nothing for other names.
std::optional<std::int64_t> epochs_of(const fs::path& file) {
  const std::string name = file.filename().string();
  constexpr std::string_view before = "epoch-";
  constexpr std::string_view after = ".seam";
  if (!name.starts_with(before) || !name.ends_with(after)) return std::nullopt;
  const char* first = name.data() + before.size();
  const char* last = name.data() + name.size() - after.size();
  std::int64_t epochs = 0;
  const auto [end, error] = std::from_chars(first, last, epochs);
  if (error != std::errc() || end != last || epochs < 0) return std::nullopt;
  return epochs;
}

Error folder_fault(const std::string& what, const fs::path& path, const std::error_code& error) {
  return Error(what + " '" + path.string() + "': " + error.message());
}

/// A file that cannot be read may be whole: what to do about it is the user's to say.
std::vector<std::byte> bytes_of(const fs::path& checkpoint) {
  try {
    return read_file(checkpoint);
  } catch (const Error& error) {
    throw Error(
        std::string("the newest checkpoint that is left may be whole but cannot be read: ") +
        error.what() +
        "; make it readable, or move it out of the folder to go on from the one before");
  }
}

}  // namespace

void write_checkpoint(const fs::path& file, const Checkpoint& checkpoint) {
  Counter counter;
  put_body(counter, checkpoint);
  Writer writer(file);
  writer.bytes(std::as_bytes(std::span(magic)));
  put(writer, format_version);
  put(writer, byte_order_mark);
  put(writer, head_size + counter.size() + checksum_size);
  put_body(writer, checkpoint);
  writer.commit();
}

Checkpoint read_checkpoint(const fs::path& file) {
  return parse_checkpoint(read_file(file), file);
}

namespace {

/// What stands between the head and the checksum.
Checkpoint parse_body(Reader& reader, const fs::path& file) {
  Checkpoint checkpoint;
  const auto sections = reader.number<std::uint32_t>();
  if (sections == 0) throw damaged(file, "it has no section of the run");
  std::set<std::string> names;
  for (std::uint32_t at = 0; at < sections; ++at) {
    StageState section = reader.section();
    if (!names.insert(section.name).second) {
      throw damaged(file, "it has two sections '" + section.name + "'");
    }
    if (at > 0) {
      checkpoint.stages.push_back(std::move(section));
      continue;
    }
    if (section.name != run_section) throw damaged(file, "it has no section of the run");
    take_run_archive(section.archive, checkpoint);
  }
  if (!reader.empty()) throw damaged(file, "it goes on after its last section");
  return checkpoint;
}

}  // namespace

Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const fs::path& file) {
  if (bytes.size() < head_size + checksum_size) {
    throw damaged(file, "it ends after " + std::to_string(bytes.size()) + " bytes");
  }
  Reader head(file, bytes.first(head_size));
  const auto start = head.bytes(magic.size());
  if (std::memcmp(start.data(), magic.data(), magic.size()) != 0) {
    throw damaged(file, "it does not begin as a checkpoint");
  }
  const auto version = head.number<std::uint32_t>();
  const auto mark = head.number<std::uint32_t>();
  if (mark == other_byte_order_mark) {
    throw Error("checkpoint '" + file.string() +
                    "' was written by a machine of the other byte order; resume on such a machine",
                Fault::configuration);
  }
  if (mark != byte_order_mark) throw damaged(file, "it does not begin as a checkpoint");
  if (version != format_version) {
    throw Error("checkpoint '" + file.string() + "' has format " + std::to_string(version) +
                    ", but this program reads format " + std::to_string(format_version) +
                    "; resume with the version of Seam that wrote it",
                Fault::configuration);
  }
  const auto size = head.number<std::uint64_t>();
  if (size != bytes.size()) {
    throw damaged(file, "it has " + std::to_string(bytes.size()) + " of its " +
                            std::to_string(size) + " bytes");
  }
  const auto covered = bytes.first(bytes.size() - checksum_size);
  Crc64 checksum;
  checksum.add(covered);
  Reader tail(file, bytes.last(checksum_size));
  if (tail.number<std::uint64_t>() != checksum.value()) {
    throw damaged(file, "its checksum does not fit its content");
  }
  Reader reader(file, covered.subspan(head_size));
  try {
    return parse_body(reader, file);
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {  // an entry that contradicts itself, or one that is missing
    throw damaged(file, error.what());
  }
}

fs::path CheckpointFolder::write(const Checkpoint& checkpoint) const {
  std::error_code made;
  fs::create_directories(folder_, made);
  if (made) throw folder_fault("cannot make", folder_, made);
  fs::path file = folder_ / ("epoch-" + std::to_string(checkpoint.position.epochs_done) + ".seam");
  write_checkpoint(file, checkpoint);
  const std::vector<fs::path> present = files();
  for (std::size_t at = 2; at < present.size(); ++at) {
    const bool best =
        checkpoint.position.best && epochs_of(present[at]) == checkpoint.position.best_epochs;
    std::error_code ignored;  // a file too many does no harm
    if (!best) fs::remove(present[at], ignored);
  }
  return file;
}

std::vector<fs::path> CheckpointFolder::files() const {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto epochs = epochs_of(entry->path())) found.emplace_back(*epochs, entry->path());
  }
  // Before the first checkpoint there is no folder. Any other fault is no answer to which there
  // are.
  if (error && error != std::errc::no_such_file_or_directory) {
    throw folder_fault("cannot look through", folder_, error);
  }
  std::ranges::sort(found, std::greater());
  std::vector<fs::path> files;
  files.reserve(found.size());
  for (auto& [epochs, file] : found) files.push_back(std::move(file));
  return files;
}

CheckpointFolder::Newest CheckpointFolder::newest() const {
  Newest newest;
  for (const fs::path& file : files()) {
    const std::vector<std::byte> bytes = bytes_of(file);
    try {
      newest.checkpoint = parse_checkpoint(bytes, file);
      newest.file = file;
      return newest;
    } catch (const Damaged& error) {
      newest.damaged.push_back({file, error.what()});
    }
  }
  if (newest.damaged.empty()) return newest;
  std::string text = "no checkpoint of this run can be used; start a new run";
  for (const DamagedFile& file : newest.damaged) text += "\n" + file.how;
  throw Error(text);
}

fs::path CheckpointFolder::set_aside(const fs::path& file) {
  const std::string name = file.string() + ".damaged";
  fs::path aside = name;
  for (int number = 2; fs::exists(fs::symlink_status(aside)); ++number) {
    aside = name + "-" + std::to_string(number);
  }
  std::error_code error;
  fs::rename(file, aside, error);
  if (error) throw folder_fault("cannot set aside", file, error);
  return aside;
}

}  // namespace seam::host
