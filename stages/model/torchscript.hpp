/// Stage `model.torchscript`: a network that Python exported.
///
///     images ──► embedding
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "stages/nn/script_module.hpp"

namespace seam::stages {

class Torchscript final : public ModuleStage<nn::ScriptModule> {
 public:
  static constexpr std::string_view name = "model.torchscript";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::ScriptModule make() const override { return nn::ScriptModule(file_); }
  void forward(nn::ScriptModule& net, Packet& packet, Context& context) override;
  /// The tensor at `output_`. Throws seam::Error if there is none, or if it does not have one row
  /// per image.
  [[nodiscard]] Tensor embedding_in(const torch::IValue& result, std::int64_t images) const;

  std::filesystem::path file_;
  std::int64_t output_ = 0;
  bool unit_length_ = false;
};

}  // namespace seam::stages
