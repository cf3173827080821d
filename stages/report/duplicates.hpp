/// The stage that finds images that occur in two splits of a data set.
///
///     training   train_items ──► decode ──┐
///     queries    query_items ──► decode ──┼──► [ report.duplicates ] ──► report, metrics, drawings
///     gallery  gallery_items ──► decode ──┘      each flow with those that ran before it
#pragma once

#include <seam/stage.hpp>

#include "stages/report/drawn_set.hpp"
#include "stages/report/duplicate_pairs.hpp"

namespace seam::stages {

/// Keeps hashes and names of the images of every flow (about 1 KiB per image), also when a run is
/// resumed. A flow that runs again replaces its own.
class DuplicatePictures final : public Sink {
 public:
  static constexpr std::string_view name = "report.duplicates";

  void declare(Declaration& d) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;

 private:
  enum class OnIdentical : std::uint8_t { report, refuse };
  using Others = std::vector<const HashedFlow*>;

  [[nodiscard]] Others others() const;
  void record(const Duplicates& found, const Others& others, const Context& context) const;
  /// The warning about identical images; empty if there are none.
  [[nodiscard]] std::string summary(const Duplicates& found, const Others& others) const;
  [[nodiscard]] std::string text_of(const Duplicates& found, const Others& others,
                                    std::string_view stage) const;
  void draw(const Duplicates& found, const Others& others, const DrawnSet& set) const;
  void list_drawings(const DrawnSet& set) const;

  int near_bits_ = 8;
  double near_difference_ = 4;
  bool within_ = false;
  OnIdentical on_identical_ = OnIdentical::report;
  std::size_t rows_ = 100;
  std::size_t drawn_ = 24;
  int size_ = 128;
  std::vector<HashedFlow> flows_;  // completed flows, in their order
  HashedFlow current_;
};

}  // namespace seam::stages
