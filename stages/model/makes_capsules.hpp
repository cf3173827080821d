/// Interface through which model.concat asks for the source of its capsules.
#pragma once

#include <cstdint>

namespace seam::stages {

class MakesCapsules {
 public:
  enum class Source : std::uint8_t { descriptors, feature_map };

  MakesCapsules() = default;
  virtual ~MakesCapsules() = default;
  MakesCapsules(const MakesCapsules&) = delete;
  MakesCapsules& operator=(const MakesCapsules&) = delete;
  MakesCapsules(MakesCapsules&&) = delete;
  MakesCapsules& operator=(MakesCapsules&&) = delete;

  [[nodiscard]] virtual Source made_of() const = 0;
};

}  // namespace seam::stages
