/// Counts and numbers in readable form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace seam::host {

/// "25,882".
std::string count_text(std::uint64_t count);
/// A measured number in four digits: "0.6631", "3.214", "10618", "1.062e+09", "nan".
std::string number_for_people(double number);
/// "0.3 MiB", "1,204 MiB".
std::string mebibytes_text(std::uint64_t bytes);
/// "1 flow", "25,882 flows".
std::string counted(std::uint64_t count, std::string_view noun);
/// The same for packets.
std::string packets_text(std::uint64_t count);

}  // namespace seam::host
