/// The source of embeddings that another run has written, whole or in shards.
///
///     runs/embed-1/embeddings.npy, .csv ─────────────┐
///     OUT/part-00000-of-00003/embeddings.npy, .csv ──┴─► [ retrieval.embedded ] ──► embedding, ...
///
/// Rows of parts are served by their `number`, so in the order of a single process.
#pragma once

#include <seam/listing.hpp>
#include <seam/tensor.hpp>

namespace seam::stages {

class Embedded final : public Source, public Listing {
 public:
  static constexpr std::string_view name = "retrieval.embedded";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  /// Of the rows without their embeddings.
  [[nodiscard]] std::uint64_t listing_digest() const override { return digest_; }

 private:
  struct Row {
    std::int64_t number = -1;
    std::size_t file = 0;       // in files_
    std::int64_t position = 0;  // in that file
    std::int64_t index = -1;
    std::int64_t category = -1;
    std::string path;
    std::string item;
    std::shared_ptr<const std::string> list;
  };

  /// A pair of files.
  struct File {
    std::filesystem::path stem;  ///< without extension
    bool half = false;           ///< the vectors are in float16
  };

  void read_table(const std::filesystem::path& stem);
  void read_vectors(std::span<const Row> rows, float* out) const;

  std::filesystem::path folder_;
  std::string file_name_ = "embeddings";
  std::int64_t size_ = 1024;
  std::vector<File> files_;
  std::vector<Row> rows_;
  std::uint64_t digest_ = 0;  // of those, and of their vectors
  std::int64_t dimensions_ = 0;
  std::size_t next_ = 0;
};

}  // namespace seam::stages
