/// Counts as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace seam::host {

/// "25,882".
std::string count_text(std::uint64_t count);
/// A measured number in four digits: "0.6631", "3.214", "10618", "1.062e+09", "nan".
std::string number_for_people(double number);
/// "1 packet", "25,882 packets".
std::string packets_text(std::uint64_t count);

}  // namespace seam::host
