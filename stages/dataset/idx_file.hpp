/// Reads files in the idx format of MNIST, compressed by gzip or not:
///
///     00 00 08 03 | 00 00 27 10 | 00 00 00 1C | 00 00 00 1C | bytes, row by row
///           │  └ dimensions  └ 10,000       28            28
///           └ type: 08 is unsigned bytes
///
/// Numbers have their highest byte first. Source: yann.lecun.com/exdb/mnist.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace seam::stages {

struct IdxArray {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> values;
};

/// Reads an array of unsigned bytes with so many dimensions. `what` says in messages what the file
/// should hold: "pictures". Throws seam::Error naming the file where it cannot be read, is damaged,
/// is no idx file, is of another type or number of dimensions, has a size of 0, or holds fewer or
/// more bytes than its sizes say.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& file, int dimensions,
                                const std::string& what);

}  // namespace seam::stages
