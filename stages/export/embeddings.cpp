#include "stages/export/embeddings.hpp"

#include <bit>
#include <system_error>

#include "stages/export/csv.hpp"

namespace seam::stages {
namespace {

/// The value at a row of a list that a batch may lack.
template <class T>
std::string text_at(const Packet& packet, const Field<std::vector<T>>& key, std::size_t row) {
  if (!packet.has(key)) return {};
  const auto& value = packet.get(key)[row];
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else {
    return value < 0 ? std::string() : std::to_string(value);
  }
}

/// The first row that is true, or -1.
std::int64_t first_true(const Tensor& rows) {
  const Tensor found = rows.nonzero();
  return found.size(0) == 0 ? -1 : found[0][0].item<std::int64_t>();
}

/// The first row with an element that is not finite, or -1.
std::int64_t first_infinite_row(const Tensor& vectors) {
  return first_true(vectors.isfinite().all(1).logical_not());
}

/// The first row other than zero that float16 would store with fewer digits than usual or as zero;
/// or -1.
std::int64_t first_tiny_row(const Tensor& vectors) {
  constexpr double smallest_normal = 0x1p-14;
  const Tensor largest = vectors.abs().amax(1);
  return first_true((largest > 0).logical_and(largest < smallest_normal));
}

}  // namespace

std::string npy_header(std::int64_t rows, std::int64_t columns, StoredAs stored) {
  static_assert(std::endian::native == std::endian::little, "'<f4' is little-endian");
  constexpr std::size_t size = 128;  // numpy aligns to 64; two numbers of 19 digits fit
  std::string header("\x93NUMPY\x01\x00", 8);
  const std::size_t length = size - header.size() - 2;
  header += static_cast<char>(length);
  header += '\0';
  header += std::string("{'descr': '") + (stored == StoredAs::float32 ? "<f4" : "<f2") +
            "', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
            std::to_string(columns) + "), }";
  if (header.size() >= size) throw Error("a header that does not fit", Fault::internal);
  header.append(size - 1 - header.size(), ' ');
  return header + '\n';
}

void Embeddings::declare(Declaration& d) {
  d.doc(
      "Writes the embeddings of a flow as `STAGE.npy`, named after the stage, which `numpy.load` "
      "reads as [rows, dimensions] in `precision`, and as `STAGE.csv` with one line per row: "
      "`row`, `path` (the image's name in the data set), `index`, `item`, `category` and `list` "
      "(the list or folder that named it) and `number` (the image's number in the flow, counting "
      "those that were dropped). The files are written when the flow has ended and are replaced if "
      "it runs again. "
      "Embeddings with NaN or infinite elements are rejected.");
  d.only_writes();
  d.parameter("folder", folder_, "folder of the files, relative to the run folder");
  d.parameter("precision", stored_,
              "type of the stored numbers: float16 takes half the space and keeps about three "
              "digits; numbers beyond 65,504 are rejected, and embeddings other than zero with all "
              "numbers between -6.1e-5 and 6.1e-5",
              {{"float32", StoredAs::float32}, {"float16", StoredAs::float16}});
  d.needs(field::embedding);
  d.needs(field::origins);
  d.accepts(field::indices).doc("empty if absent or -1");
  d.accepts(field::items).doc("empty if absent");
  d.accepts(field::categories).doc("empty if absent or -1");
  d.accepts(field::packet_numbers).doc("empty if absent");
  d.offers<WritesParts>(*this);
}

void Embeddings::begin(Context& context) {
  flow_.enter(context);
  files_.reset();
  const std::string path = export_path(folder_, context).string();
  Files files{ExportedFile(path + ".npy"), ExportedFile(path + ".csv")};
  files.vectors.write(npy_header(0, 0, stored_));
  files.table.write("row,path,index,item,category,list,number\n");
  files_ = std::move(files);
}

void Embeddings::process(const Packet& packet, Context& /*context*/) {
  const Tensor vectors = on_host(packet.get(field::embedding));
  const auto& origins = packet.get(field::origins);
  if (vectors.dim() != 2 || vectors.size(0) != static_cast<std::int64_t>(origins.size())) {
    throw Error("the fields of one batch must have the same number of rows, but 'embedding' has " +
                    std::to_string(vectors.dim() > 0 ? vectors.size(0) : 0) +
                    " and 'origins' has " + std::to_string(origins.size()),
                Fault::internal);
  }
  if (files_->rows == 0) files_->dimensions = vectors.size(1);
  if (vectors.size(1) != files_->dimensions) {
    throw Error("the embedding of " + (origins.empty() ? "a batch" : origins.front().text()) +
                " has " + std::to_string(vectors.size(1)) + " elements, those before it have " +
                std::to_string(files_->dimensions) + "; one file holds one length");
  }
  if (const std::int64_t row = first_infinite_row(vectors); row >= 0) {
    throw Error("the embedding of " + origins[static_cast<std::size_t>(row)].text() +
                " has elements that are not finite");
  }
  Tensor stored = vectors;
  if (stored_ == StoredAs::float16) {
    stored = vectors.to(torch::kHalf);
    if (const std::int64_t row = first_infinite_row(stored.to(torch::kFloat)); row >= 0) {
      throw Error("the embedding of " + origins[static_cast<std::size_t>(row)].text() +
                  " has elements beyond the largest number of float16, 65504; set precision = "
                  "\"float32\", or normalise the embeddings");
    }
    if (const std::int64_t row = first_tiny_row(vectors); row >= 0) {
      throw Error("all elements of the embedding of " +
                  origins[static_cast<std::size_t>(row)].text() +
                  " are below 6.1e-5, and float16 keeps fewer than three digits of them; set "
                  "precision = \"float32\", or normalise the embeddings");
    }
  }
  files_->vectors.write(
      std::span(static_cast<const std::byte*>(stored.data_ptr()),
                static_cast<std::size_t>(stored.numel() * stored.element_size())));
  for (std::size_t i = 0; i < origins.size(); ++i) {
    files_->table.write(
        csv_line({std::to_string(files_->rows), origins[i].item, text_at(packet, field::indices, i),
                  text_at(packet, field::items, i), text_at(packet, field::categories, i),
                  origins[i].file == nullptr ? std::string() : *origins[i].file,
                  text_at(packet, field::packet_numbers, i)}));
    ++files_->rows;
  }
}

void Embeddings::end(Context& context) {
  if (files_->rows == 0 && !is_part_) {
    throw Error("no embedding was received, so there is nothing to export");
  }
  Files files = std::move(*files_);
  files_.reset();
  files.vectors.rewrite_start(npy_header(files.rows, files.dimensions, stored_));
  files.vectors.finish();
  files.table.finish();
  // The old table is removed first, so that vectors never appear next to a table of other vectors.
  std::error_code ignored;
  std::filesystem::remove(files.vectors.path(), ignored);
  written_ = {files.vectors.path(), files.table.path()};
  const std::string shown = files.vectors.path().string();
  files.table.commit();
  files.vectors.commit();
  context.info(std::to_string(files.rows) + " embeddings of " + std::to_string(files.dimensions) +
               " elements in '" + shown + "'");
}

void Embeddings::close() {
  files_.reset();  // the flow did not end, and an incomplete file would be mistaken for a complete
                   // one
}

}  // namespace seam::stages
