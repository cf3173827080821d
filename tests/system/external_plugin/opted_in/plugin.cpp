#include <seam/opencv.hpp>
#include <seam/plugin.hpp>
#include <seam/tensor.hpp>
#include <string_view>

class Brightness final : public seam::Compute<seam::Transform> {
 public:
  static constexpr std::string_view name = "example.brightness";
  void declare(seam::Declaration& d) override { d.needs(seam::field::image); }
  void process(seam::Packet& packet, seam::Context& context) override {
    const cv::Mat mat = seam::view_as_mat(packet.get(seam::field::image));
    const seam::Tensor tensor =
        torch::from_blob(mat.data, {mat.rows, mat.cols, mat.channels()}, torch::kUInt8);
    context.metric("brightness", tensor.to(torch::kFloat32).mean().item<double>());
  }
};

SEAM_PLUGIN(Brightness)
