#include "stages/report/pictures.hpp"

#include <algorithm>

#include <torch/utils.h>

#include "stages/image/encode_jpeg.hpp"
#include "stages/reconstruction.hpp"
#include "stages/report/contact_sheet.hpp"

namespace seam::stages {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_columns = 12;

/// As f32[3,1,1]; `otherwise` if no numbers are given.
Tensor by_channel(const std::vector<double>& values, double otherwise,
                  const std::string& parameter) {
  if (values.empty()) return torch::full({3, 1, 1}, otherwise, torch::kFloat32);
  if (values.size() != 3) {
    throw Error("parameter '" + parameter + "' has " + std::to_string(values.size()) +
                    " numbers; give three, for red, green and blue, or none",
                Fault::configuration);
  }
  return torch::tensor(values, torch::kFloat32).view({3, 1, 1});
}

std::string file_of_batch(std::uint64_t sequence) {
  return "batch-" + std::to_string(sequence) + ".jpg";
}

template <class T>
T row_or(const Packet& packet, const Field<std::vector<T>>& key, std::size_t row,
         const T& otherwise) {
  return packet.has(key) ? packet.get(key)[row] : otherwise;
}

}  // namespace

Image picture_of(const Tensor& images, std::int64_t row, const Tensor& mean,
                 const Tensor& deviation, std::int64_t& clipped) {
  constexpr double half_a_step = 0.5 / 255;
  const Tensor values = images[row].detach().to(torch::kCPU, torch::kFloat32) * deviation + mean;
  const Tensor inside = (values >= -half_a_step) & (values <= 1 + half_a_step);  // false for nan
  clipped += inside.numel() - inside.sum().item<std::int64_t>();
  const Tensor bytes = (values.nan_to_num(0).clamp(0, 1) * 255)
                           .round()
                           .to(torch::kUInt8)
                           .permute({1, 2, 0})
                           .contiguous();
  Image image(static_cast<int>(bytes.size(0)), static_cast<int>(bytes.size(1)), 3);
  std::copy_n(bytes.data_ptr<std::uint8_t>(), image.bytes(), image.data());
  return image;
}

void FedPictures::declare(Declaration& d) {
  d.doc(
      "Draws the first batches as the model receives them (augmented and cropped) for `seam "
      "report`: one sheet per batch, each image with its group, role and item. Placed between "
      "batch and model, it passes packets on unchanged, so a run computes the same results with "
      "it. After a decoder, it draws each image's reconstruction next to it. Writes "
      "`pictures/STAGE/epoch-0000.json` into the run folder, with a folder of JPEG files next to "
      "it.");
  d.only_writes();
  d.parameter("batches", batches_, "number of batches to draw per epoch").range(1, 1000);
  d.parameter("every", every_, "draw every N epochs; default: only in the first")
      .at_least(1)
      .unit("epochs");
  d.parameter("pictures", pictures_, "maximum number of images per batch, from its start")
      .range(1, 4096);
  d.parameter("size", size_, "longer side of a drawn image").range(16, 1024).unit("px");
  d.parameter("mean", mean_, "the `mean` of the batch stage, if set");
  d.parameter("deviation", deviation_, "the `deviation` of the batch stage, if set");
  d.needs(field::images);
  d.accepts(field::items);
  d.accepts(field::groups);
  d.accepts(field::roles);
  d.accepts(field::reconstruction).doc("drawn next to the images");
}

void FedPictures::open(Context& context) {
  static_cast<void>(by_channel(mean_, 0, "mean"));
  static_cast<void>(by_channel(deviation_, 1, "deviation"));
  static_cast<void>(DrawnSet("pictures", context));  // throws if there is no run folder
}

void FedPictures::begin(Context& context) {
  flow_.enter(context);
  set_ = DrawnSet("pictures", context);
  wanted_ = every_ ? context.epoch() % *every_ == 0 : context.epoch() == 0;
  warned_ = false;
}

void FedPictures::process(Packet& packet, Context& context) {
  // By number, so that a resumed flow does not restart the count.
  if (wanted_ && packet.sequence() < static_cast<std::uint64_t>(batches_)) draw(packet, context);
}

Pause FedPictures::pause(Context& /*context*/) {
  return Pause::ready;
}

void FedPictures::draw(const Packet& packet, const Context& context) {
  const torch::NoGradGuard no_gradient;
  const Tensor& images = packet.get(field::images);
  const std::int64_t count = std::min(images.size(0), pictures_);
  if (count == 0) return;
  const Tensor mean = by_channel(mean_, 0, "mean");
  const Tensor deviation = by_channel(deviation_, 1, "deviation");
  const Tensor reconstructions =
      packet.has(field::reconstruction) ? packet.get(field::reconstruction) : Tensor();
  std::int64_t clipped = 0;
  std::vector<SheetCell> cells;
  std::vector<std::int64_t> groups;  // of the cells, for keeping each in one row
  for (std::int64_t row = 0; row < count; ++row) {
    const auto at = static_cast<std::size_t>(row);
    SheetCell cell{picture_of(images, row, mean, deviation, clipped), {}, Role::single};
    cell.role = row_or(packet, field::roles, at, Role::single);
    groups.push_back(row_or(packet, field::groups, at, std::int64_t{-1}));
    if (groups.back() >= 0) cell.text[0] = std::to_string(groups.back()) + " ";
    cell.text[0] += role_name(cell.role);
    cell.text[1] = row_or(packet, field::items, at, std::string());
    cells.push_back(std::move(cell));
    if (!reconstructions.defined()) continue;
    if (groups.back() < 0) groups.back() = row;
    groups.push_back(groups.back());
    cells.push_back(
        {picture_of(reconstructions, row, torch::zeros({3, 1, 1}), torch::ones({3, 1, 1}), clipped),
         {"reconstruction", ""},
         cells.back().role});
  }
  if (clipped > 0 && !warned_) {
    warned_ = true;
    context.warn(
        "values of a batch are outside 0 to 1 and are clipped in its drawing; if the batch has a "
        "'mean' and 'deviation', give this stage the same");
  }
  const Image sheet = contact_sheet(cells, sheet_columns(groups, most_columns), size_);
  const std::vector<std::uint8_t> bytes = encode_jpeg(sheet);
  static_cast<void>(set_.write_picture(file_of_batch(packet.sequence()), bytes));

  Json sheets = Json::array();
  for (std::uint64_t batch = 0; batch <= packet.sequence(); ++batch) {
    if (!set_.has(file_of_batch(batch))) continue;
    sheets.push_back({{"title", "Batch " + std::to_string(batch + 1)},
                      {"file", set_.name_of(file_of_batch(batch))}});
  }
  std::string note = "As the model receives them, " + std::to_string(images.size(3)) + "x" +
                     std::to_string(images.size(2)) +
                     " pixels. Below each: its group, role and item." +
                     (reconstructions.defined() ? " Next to each: its reconstruction." : "");
  if (count < images.size(0)) {
    note += " The first " + std::to_string(count) + " of a batch of " +
            std::to_string(images.size(0)) + ".";
  }
  if (clipped > 0) note += " Values outside 0 to 1 are clipped.";
  set_.write("fed", {{"note", note}, {"sheets", std::move(sheets)}});
}

}  // namespace seam::stages
