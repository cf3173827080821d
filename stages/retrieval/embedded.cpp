#include "stages/retrieval/embedded.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <seam/shard.hpp>

#include "stages/counted.hpp"
#include "stages/dataset/csv.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t header_size = 128;  // of the .npy files of export.embeddings
constexpr std::size_t type_size = 3;      // "<f4" or "<f2"

constexpr std::size_t size_in(bool half) {
  return half ? sizeof(c10::Half) : sizeof(float);
}

std::string content_of(const fs::path& file, std::size_t most = std::string::npos) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("'" + file.string() + "' cannot be read");
  if (most == std::string::npos) return {std::istreambuf_iterator<char>(stream), {}};
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

/// -1 if the text is empty.
std::int64_t parsed_number(const std::string& text, const std::string& where) {
  if (text.empty()) return -1;
  const auto number = number_in<std::int64_t>(text);
  if (!number || *number < 0) throw Error(where + ": '" + text + "' is not a number from 0");
  return *number;
}

struct Shape {
  std::int64_t rows = -1;
  std::int64_t columns = -1;
  bool half = false;  ///< float16, not float32
};

/// The content of such a file, "'descr': '<f4', 'fortran_order': False, 'shape': (3, 128), }".
Shape shape_of(const fs::path& file) {
  const std::string header = content_of(file, header_size);
  constexpr std::string_view before = "', 'fortran_order': False, 'shape': (";
  Shape shape;
  auto& [rows, columns, half] = shape;
  const std::size_t found = header.find(before);
  const bool typed = found != std::string::npos && found > type_size;
  const std::string type = typed ? header.substr(found - type_size, type_size) : "";
  half = type == "<f2";
  if (header.size() == header_size && (half || type == "<f4")) {
    const char* const end = header.data() + header.size();
    const auto first = std::from_chars(header.data() + found + before.size(), end, rows);
    if (end - first.ptr > 2) std::from_chars(first.ptr + 2, end, columns);
  }
  std::error_code unknown;
  const auto numbers = static_cast<std::uintmax_t>(rows) * static_cast<std::uintmax_t>(columns);
  if (rows < 0 || columns < 0 ||
      fs::file_size(file, unknown) != header_size + numbers * size_in(half)) {
    throw Error("'" + file.string() + "' is not a complete file of export.embeddings");
  }
  return shape;
}

/// The folders of the shards in `out`. Throws seam::Error if some are missing.
std::vector<fs::path> parts_in(const fs::path& out) {
  std::vector<fs::path> parts;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    if (entry.path().filename().string().starts_with("part-")) parts.push_back(entry.path());
  }
  std::sort(parts.begin(), parts.end());
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const auto padded = [](std::size_t number) {
      return zero_padded(static_cast<std::int64_t>(number), 5);
    };
    const std::string expected = "part-" + padded(at) + "-of-" + padded(parts.size());
    if (parts[at].filename() != expected) {
      throw Error("'" + out.string() + "' has " + std::to_string(parts.size()) +
                  " folders of shards, but no '" + expected + "'; see seam shards " + out.string());
    }
  }
  return parts;
}

/// The digest of what determined the content of a part. Quotes are escaped in the texts of
/// summary.json, so a key cannot be found inside one.
std::string inputs_of(const fs::path& part) {
  constexpr std::string_view before = "\"inputs\":\"";
  constexpr std::size_t digits = 64;
  const fs::path file = part / "summary.json";
  const std::string summary = fs::exists(file) ? content_of(file) : "";
  if (summary.find("\"complete\":true") == std::string::npos ||
      summary.find("\"exit_code\":0") == std::string::npos) {
    throw Error("'" + part.string() +
                "' is the folder of a shard that has failed or is not complete; run the shard "
                "again, and see seam shards " +
                part.parent_path().string());
  }
  const std::size_t found = summary.find(before);
  if (found == std::string::npos || summary[found + before.size()] == '"') {
    throw Error("'" + file.string() +
                "' was not written by a shard of this version; run the shards again in another "
                "folder");
  }
  return summary.substr(found + before.size(), digits);
}

}  // namespace

void Embedded::declare(Declaration& d) {
  d.doc(
      "Serves the embeddings that `export.embeddings` wrote in another run, in batches of float32. "
      "The shards of a run are served as one set, in the order of a single process. `seam shards` "
      "checks that they belong together.");
  d.parameter("folder", folder_,
              "the folder with the files, such as a run folder, or the folder of all shards")
      .required()
      .folder_with({});
  d.parameter("name", file_name_, "name of the files, without an extension");
  d.parameter("size", size_, "maximum number of rows per batch").range(1, 1 << 20);
  d.provides(field::embedding);
  d.provides(field::items).doc("empty if unknown");
  d.provides(field::categories).doc("-1 if unknown");
  d.provides(field::indices).doc("-1 if unknown");
  d.provides(field::origins).doc("the image, as its data set named it");
  d.provides(field::packet_numbers).doc("the column `number`");
  d.offers<Listing>(*this);
}

void Embedded::open(Context& context) {
  files_.clear();
  rows_.clear();
  dimensions_ = 0;
  const std::string table = file_name_ + ".csv";
  if (fs::exists(folder_ / table)) {
    read_table(folder_ / file_name_);
  } else {
    const std::vector<fs::path> parts = parts_in(folder_);
    for (const fs::path& part : parts) {
      if (inputs_of(part) != inputs_of(parts.front())) {
        throw Error("'" + part.string() +
                    "' was made with another pipeline, data or program than '" +
                    parts.front().string() + "'; see seam shards " + folder_.string());
      }
      read_table(part / file_name_);
    }
    std::sort(rows_.begin(), rows_.end(),
              [](const Row& a, const Row& b) { return a.number < b.number; });
    const auto same =
        std::adjacent_find(rows_.begin(), rows_.end(),
                           [](const Row& a, const Row& b) { return a.number == b.number; });
    if (same != rows_.end()) {
      throw Error("number " + std::to_string(same->number) + " is in '" +
                  files_[same->file].stem.string() + ".csv' and in '" +
                  files_[std::next(same)->file].stem.string() + ".csv'; see seam shards " +
                  folder_.string());
    }
  }
  if (rows_.empty()) {
    throw Error("there are no embeddings in '" + folder_.string() + "': neither a file '" + table +
                "' nor shards with rows");
  }
  digest_ = rows_.size();
  for (const Row& row : rows_) {
    digest_ = stream_of(std::to_string(digest_) + " " + std::to_string(row.number) + " " +
                        std::to_string(row.index) + " " + std::to_string(row.category) + " " +
                        row.item + " " + row.path);
  }
  constexpr std::size_t at_a_time = 1024;
  const std::size_t row_bytes = static_cast<std::size_t>(dimensions_) * sizeof(float);
  std::string bytes(at_a_time * row_bytes, '\0');
  for (std::size_t first = 0; first < rows_.size(); first += at_a_time) {
    const std::span some =
        std::span(rows_).subspan(first, std::min(at_a_time, rows_.size() - first));
    read_vectors(some, reinterpret_cast<float*>(bytes.data()));
    const std::string_view read = std::string_view(bytes).substr(0, some.size() * row_bytes);
    digest_ = stream_of(std::to_string(digest_) + " " + std::to_string(stream_of(read)));
  }
  context.info(counted(rows_.size(), "embedding") + " in " + counted(files_.size(), "file"));
}

void Embedded::read_table(const fs::path& stem) {
  const std::string file = stem.string() + ".csv";
  const auto [count, columns, half] = shape_of(stem.string() + ".npy");
  const std::string text = content_of(file);
  CsvReader reader(text, file, ',');
  CsvRow row;
  const std::vector<std::string> head{"row", "path", "index", "item", "category", "list", "number"};
  if (!reader.next(row) || row.cells != head) {
    throw Error("'" + file + "' was not written by this version of export.embeddings");
  }
  if (count > 0 && dimensions_ > 0 && columns != dimensions_) {
    throw Error("'" + file + "' has embeddings of " + std::to_string(columns) +
                " elements, the files before it of " + std::to_string(dimensions_));
  }
  if (count > 0) dimensions_ = columns;
  std::int64_t position = 0;
  std::shared_ptr<const std::string> list;
  for (; reader.next(row); ++position) {
    const std::string where = file + ":" + std::to_string(row.line);
    if (row.cells.size() != head.size()) {
      throw Error(where + ": " + std::to_string(row.cells.size()) + " cells instead of " +
                  std::to_string(head.size()));
    }
    if (parsed_number(row.cells[0], where) != position) {
      throw Error(where + ": the column 'row' is " +
                  (row.cells[0].empty() ? "empty" : row.cells[0]) + ", but this is row " +
                  std::to_string(position) + " of '" + stem.string() +
                  ".npy'; the lines were probably sorted or edited in another program. Sort them "
                  "by 'row' if all are still there, or export the embeddings again");
    }
    if (!list || *list != row.cells[5]) list = std::make_shared<const std::string>(row.cells[5]);
    rows_.push_back({parsed_number(row.cells[6], where), files_.size(), position,
                     parsed_number(row.cells[2], where), parsed_number(row.cells[4], where),
                     row.cells[1], row.cells[3], list});
  }
  if (position != count) {
    throw Error("'" + file + "' has " + std::to_string(position) + " rows, but the .npy file has " +
                std::to_string(count));
  }
  files_.push_back({stem, half});
}

void Embedded::begin(Context& /*context*/) {
  next_ = 0;
}

More Embedded::produce(Emitter& emitter, Context& /*context*/) {
  const auto size = static_cast<std::size_t>(size_);
  const std::size_t first = next_ * size;
  if (first >= rows_.size()) return More::no;
  ++next_;
  const std::size_t count = std::min(size, rows_.size() - first);
  const std::span rows = std::span(rows_).subspan(first, count);
  Tensor vectors = torch::empty({static_cast<std::int64_t>(count), dimensions_});
  read_vectors(rows, vectors.data_ptr<float>());
  Packet batch(Origin{rows.front().list, 0, rows.front().path});
  auto& items = batch[field::items];
  auto& categories = batch[field::categories];
  auto& indices = batch[field::indices];
  auto& origins = batch[field::origins];
  auto& numbers = batch[field::packet_numbers];
  for (const Row& row : rows) {
    items.push_back(row.item);
    categories.push_back(row.category);
    indices.push_back(row.index);
    origins.push_back(Origin{row.list, 0, row.path});
    numbers.push_back(row.number);
  }
  batch.set(field::embedding, std::move(vectors));
  emitter.emit(std::move(batch));
  return first + size < rows_.size() ? More::yes : More::no;
}

void Embedded::read_vectors(std::span<const Row> rows, float* out) const {
  std::ifstream stream;
  std::optional<std::size_t> opened;
  std::vector<c10::Half> halves(static_cast<std::size_t>(dimensions_));
  for (const Row& row : rows) {
    const auto& [stem, half] = files_[row.file];
    const std::string file = stem.string() + ".npy";
    if (opened != row.file) stream = std::ifstream(file, std::ios::binary);
    opened = row.file;
    const std::int64_t bytes = dimensions_ * static_cast<std::int64_t>(size_in(half));
    stream.seekg(static_cast<std::streamoff>(header_size) + row.position * bytes);
    stream.read(half ? reinterpret_cast<char*>(halves.data()) : reinterpret_cast<char*>(out),
                bytes);
    if (!stream) throw Error("'" + file + "' cannot be read, or has changed");
    if (half) std::copy(halves.begin(), halves.end(), out);
    out += dimensions_;
  }
}

}  // namespace seam::stages
