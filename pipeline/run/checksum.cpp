#include "pipeline/run/checksum.hpp"

#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <vector>

#include "seam/error.hpp"

namespace seam::host {
namespace {

/// OpenSSL's functions return 1 on success.
void require(int result) {
  if (result != 1) throw Error("OpenSSL cannot compute SHA-256", Fault::internal);
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256::add(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.finish();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {};
  Sha256 hash;
  std::vector<char> buffer(std::size_t{1} << 16U);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(stream.gcount()))));
  }
  return stream.bad() ? std::string() : hash.finish();
}

}  // namespace seam::host
