/// Reads files in the idx format of MNIST, compressed by gzip or not:
///
///     00 00 08 03 | 00 00 27 10 | 00 00 00 1C | 00 00 00 1C | bytes, row by row
///           │  └ dimensions  └ 10,000       28            28
///           └ type: 08 is unsigned bytes
///
/// Numbers are big-endian. Source: yann.lecun.com/exdb/mnist.
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

/// Reads an array of unsigned bytes with this number of dimensions. `what` is the expected content
/// in messages: "images". Throws seam::Error with the file's name if it is not such a file, or does
/// not hold the bytes that its sizes declare.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& file, int dimensions,
                                const std::string& what);

}  // namespace seam::stages
