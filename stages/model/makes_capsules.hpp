/// Interface through which model.concat asks for the source of its capsules.
#pragma once

#include <cstdint>

namespace seam::stages {

class MakesCapsules {
 public:
  enum class Source : std::uint8_t { descriptors, feature_map };

  virtual ~MakesCapsules() = default;

  [[nodiscard]] virtual Source made_of() const = 0;
};

}  // namespace seam::stages
