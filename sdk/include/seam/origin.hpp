// SPDX-License-Identifier: Apache-2.0
/// The origin of a packet, for messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "seam/export.hpp"

namespace seam {

struct SEAM_EXPORT Origin {
  /// The list or folder that contains it; shared by all packets of a list.
  std::shared_ptr<const std::string> file;
  /// Its line in that list, from 1; 0 if there are no lines.
  std::int64_t line = 0;
  /// The image or item in that line.
  std::string item;

  /// "list.txt:17 (img/a.jpg)", or the known part of it.
  [[nodiscard]] std::string text() const;

  /// Whether they are the same; lists are compared by name.
  SEAM_EXPORT friend bool operator==(const Origin& a, const Origin& b);
};

}  // namespace seam
