/// Builds tars in memory, header by header, so that tests can choose every byte.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "stages/dataset/tar_reader.hpp"

namespace seam::stages::tars {

constexpr std::size_t block = 512;

inline std::string octal(std::uint64_t number, int digits) {
  std::string text(32, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%0*llo", digits,
                                                     static_cast<unsigned long long>(number))));
  return text;
}

/// The header with the sum of its bytes, of type unsigned char or signed char.
template <class Byte = unsigned char>
std::string summed(std::string header) {
  header.replace(148, 8, 8, ' ');
  std::int64_t sum = 0;
  for (const char c : header) sum += static_cast<Byte>(c);
  header.replace(148, 8, octal(static_cast<std::uint64_t>(sum), 6) + std::string("\0 ", 2));
  return header;
}

/// In the format of POSIX, with a sum.
inline std::string header(const std::string& name, std::uint64_t size, char type = '0') {
  std::string bytes(block, '\0');
  bytes.replace(0, name.size(), name);
  bytes.replace(100, 7, "0000644");
  bytes.replace(124, 11, octal(size, 11));
  bytes.replace(136, 11, octal(0, 11));
  bytes[156] = type;
  bytes.replace(257, 8,
                std::string("ustar\0"
                            "00",
                            8));
  return summed(bytes);
}

/// With zeros up to a whole block.
inline std::string padded(std::string content) {
  content.resize((content.size() + block - 1) / block * block);
  return content;
}

inline std::string member(const std::string& name, const std::string& content, char type = '0') {
  return header(name, content.size(), type) + padded(content);
}

/// A pax record with its length.
inline std::string record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

inline const std::string end(2 * block, '\0');

/// The bytes as an open file in memory.
inline std::shared_ptr<const OpenFile> opened(const std::string& bytes) {
  const int descriptor = ::memfd_create("tar", MFD_CLOEXEC);
  if (::write(descriptor, bytes.data(), bytes.size()) != static_cast<::ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot write a file in memory");
  }
  return std::make_shared<const OpenFile>(descriptor, "t.tar");
}

struct Content {
  std::string name;
  std::string text;

  friend bool operator==(const Content&, const Content&) = default;
};

/// All files of a tar. Throws what TarReader throws.
inline std::vector<Content> contents(const std::string& bytes) {
  TarReader reader(opened(bytes));
  std::vector<Content> found;
  while (const auto one = reader.next()) {
    const std::vector<std::uint8_t> text = one->content.read();
    found.push_back({one->name, std::string(text.begin(), text.end())});
  }
  return found;
}

}  // namespace seam::stages::tars
