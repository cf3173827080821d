/// Reads a safetensors file and writes what it read: safetensors_again IN OUT.
#include <exception>
#include <fstream>
#include <iostream>
#include <seam/safetensors.hpp>
#include <span>

int main(int count, char** arguments) try {
  const std::span words(arguments, static_cast<std::size_t>(count));
  if (words.size() != 3) throw std::runtime_error("safetensors_again IN OUT");
  const auto bytes = seam::safetensors_bytes(seam::read_safetensors(words[1]));
  std::ofstream(words[2], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
