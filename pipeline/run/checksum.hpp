/// SHA-256, which identifies the plugins and data files that a run used.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace seam::host {

/// SHA-256 (FIPS 180-4), computed incrementally.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::byte> bytes);
  /// Returns 64 hexadecimal digits; to be called once, after the last piece.
  [[nodiscard]] std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256(std::string_view text);
/// Empty if the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace seam::host
