/// Made-up files in the idx format.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {

/// Unsigned bytes with these sizes, even if they do not match.
inline std::string idx(const std::vector<std::uint32_t>& sizes, const std::string& values) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) text += static_cast<char>(size >> shift & 255U);
  }
  return text + values;
}

inline void write_file_compressed(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  gzFile out = gzopen(file.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(out), Z_OK);
}

}  // namespace seam::stages
