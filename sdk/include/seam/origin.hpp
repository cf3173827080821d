// SPDX-License-Identifier: Apache-2.0
/// Where a packet came from, for messages that a person can act on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "seam/export.hpp"

namespace seam {

struct SEAM_EXPORT Origin {
  /// The list or folder that named it; shared by all packets of a list.
  std::shared_ptr<const std::string> file;
  /// Its line in that list, from 1; 0 where there are no lines.
  std::int64_t line = 0;
  /// What the line named: an image, an item.
  std::string item;

  /// "list.txt:17 (img/a.jpg)", or what of it is known.
  [[nodiscard]] std::string text() const;

  /// Whether they name the same; lists are told apart by their names.
  SEAM_EXPORT friend bool operator==(const Origin& a, const Origin& b);
};

}  // namespace seam
