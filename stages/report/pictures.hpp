/// The stage that draws the input of a model.
///
///     batch ──► [ report.pictures ] ──► model        the same packets, unchanged
///                       └──► pictures/NAME/epoch-0000.json, epoch-0000/batch-0.jpg
#pragma once

#include <seam/tensor.hpp>

#include "stages/export/exported_file.hpp"
#include "stages/report/drawn_set.hpp"

namespace seam::stages {

/// A row of f32[N,3,H,W] as an image: value * deviation + mean, 0 to 1. `clipped` counts the values
/// outside, and NaN.
Image picture_of(const Tensor& images, std::int64_t row, const Tensor& mean,
                 const Tensor& deviation, std::int64_t& clipped);

class FedPictures final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "report.pictures";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet& packet, Context& context) override;
  Pause pause(Context& context) override;

 private:
  void draw(const Packet& packet, const Context& context);

  std::int64_t batches_ = 1;
  std::optional<std::int64_t> every_;
  std::int64_t pictures_ = 96;
  int size_ = 96;
  std::vector<double> mean_;
  std::vector<double> deviation_;
  OneFlow flow_;
  DrawnSet set_;
  bool wanted_ = false;  // in this epoch
  bool warned_ = false;
};

}  // namespace seam::stages
