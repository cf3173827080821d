/// Runs a fuzz target without a fuzzer: on every file of a corpus, and on the given number of
/// damaged copies. It replaces libFuzzer in every test run, with any compiler.
///
///     NAME_fuzz [--runs 20000] [--seed 1] FOLDER...
///
/// A bug ends the program by a signal or by an uncaught exception; its input is then in
/// `crash.input` in the working folder.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "seam/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A few random changes: bits, bytes, pieces removed, duplicated or copied from another input.
Bytes damaged(Bytes bytes, const std::vector<Bytes>& corpus, seam::Random& random) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random.index(std::max<std::size_t>(limit, 1)));
  };
  const auto at = [](Bytes& of, std::size_t position) {
    return of.begin() + static_cast<std::ptrdiff_t>(position);
  };
  for (std::size_t changes = 1 + below(6); changes > 0; --changes) {
    const std::size_t from = below(bytes.size());
    const std::size_t length = std::min(1 + below(16), bytes.size() - std::min(from, bytes.size()));
    switch (below(6)) {
      case 0:
        if (!bytes.empty()) bytes[from] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        if (!bytes.empty()) bytes[from] = static_cast<std::uint8_t>(below(256));
        break;
      case 2:
        bytes.erase(at(bytes, from), at(bytes, from + length));
        break;
      case 3: {
        const Bytes piece(at(bytes, from), at(bytes, from + length));
        bytes.insert(at(bytes, below(bytes.size())), piece.begin(), piece.end());
        break;
      }
      case 4:
        bytes.resize(below(bytes.size()));
        break;
      default: {
        Bytes other = corpus[below(corpus.size())];
        const std::size_t cut = below(other.size());
        bytes.resize(from);
        bytes.insert(bytes.end(), at(other, cut), other.end());
      }
    }
  }
  return bytes;
}

void try_input(const Bytes& bytes) {
  {
    std::ofstream stream("crash.input", std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
  }
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int count, char** values) {
  std::int64_t runs = 20'000;
  std::uint64_t seed = 1;
  std::vector<fs::path> folders;
  for (int i = 1; i < count; ++i) {
    const std::string argument = values[i];
    if (argument == "--runs" && i + 1 < count) {
      runs = std::atoll(values[++i]);
    } else if (argument == "--seed" && i + 1 < count) {
      seed = static_cast<std::uint64_t>(std::atoll(values[++i]));
    } else {
      folders.emplace_back(argument);
    }
  }
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<Bytes> corpus;
  for (const fs::path& file : files) corpus.push_back(bytes_of(file));
  if (corpus.empty()) {
    std::fputs("no corpus files were found; name the folders of the corpus\n", stderr);
    return 2;
  }
  for (const Bytes& bytes : corpus) try_input(bytes);
  for (std::int64_t run = 0; run < runs; ++run) {
    seam::Random random(seed, 0, 0, static_cast<std::uint64_t>(run));
    const auto chosen = static_cast<std::size_t>(random.index(corpus.size()));
    try_input(damaged(corpus[chosen], corpus, random));
  }
  fs::remove("crash.input");
  std::printf("%zu inputs and %lld damaged copies: no bug found\n", corpus.size(),
              static_cast<long long>(runs));
  return 0;
}
