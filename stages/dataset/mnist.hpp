/// The source `dataset.mnist`: images of MNIST, Fashion-MNIST, or any data set in the same idx
/// format.
///
///     train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz ──► image, item, category, index
#pragma once

#include <seam/category_names.hpp>
#include <seam/listing.hpp>
#include <seam/stage.hpp>

namespace seam::stages {

class Mnist final : public Source, public CategoryNames, public Listing {
 public:
  static constexpr std::string_view name = "dataset.mnist";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override { return classes_; }
  [[nodiscard]] std::uint64_t listing_digest() const override { return digest_; }

 private:
  enum class Part : std::uint8_t { train, test };

  /// The file with this name in root, compressed or not. Throws seam::Error if neither or both
  /// exist.
  [[nodiscard]] std::filesystem::path find(const std::string& file) const;
  void check_labels(const std::filesystem::path& file) const;
  void choose(Context& context);
  [[nodiscard]] Image picture(std::size_t row) const;

  std::filesystem::path root_;
  Part split_ = Part::train;
  std::vector<std::string> classes_{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  bool shuffle_ = false;
  std::int64_t skip_ = 0;
  std::optional<std::int64_t> limit_;
  std::optional<std::int64_t> expect_;

  std::shared_ptr<const std::string> file_;
  int height_ = 0;
  int width_ = 0;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
  std::uint64_t digest_ = 0;          // of both
  std::vector<std::uint32_t> order_;  // of the rows that are served
  std::size_t next_ = 0;
};

}  // namespace seam::stages
