// SPDX-License-Identifier: Apache-2.0
/// Exports stages from a shared library in one line.
///
///     // plugin.cpp
///     #include <seam/plugin.hpp>
///     #include "sharpen.hpp"
///     SEAM_PLUGIN(Sharpen)
///
/// It defines the entry point and, in a section of the library, a manifest: SDK number, compiler,
/// library versions, stage names. The host lists, finds and rejects plugins by the manifest, before
/// any of their code runs.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "seam/stage.hpp"

#ifdef SEAM_WITH_OPENCV
#include <opencv2/core/utility.hpp>
#include <opencv2/core/version.hpp>
#endif
#ifdef SEAM_WITH_TENSOR
#include <ATen/Parallel.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include "seam/counting_allocator.hpp"
#endif

// Types of the standard library cross from plugin to program, so both must mean the same ones.
#ifdef _GLIBCXX_DEBUG
#error "Seam is built without _GLIBCXX_DEBUG, which changes the standard library's types: remove it"
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#error "Seam is built with the new ABI of the standard library: remove _GLIBCXX_USE_CXX11_ABI=0"
#endif

namespace seam {

/// Incremented whenever a class or call in these headers changes in a way that breaks old plugins.
#define SEAM_SDK_NUMBER "12"  // a macro, because it is concatenated with strings

struct StageEntry {
  std::string_view name;
  std::unique_ptr<Stage> (*create)();
};

/// The result of the entry point.
struct PluginDescriptor {
  std::span<const StageEntry> stages;
  /// Limits the thread pools of the plugin's libraries, and counts the memory of tensors. Called
  /// once, before any stage is created.
  void (*limit_threads)(int threads);
  /// The devices of the plugin's LibTorch: "cpu", "cuda:0", "cuda:1". Null in a plugin without
  /// LibTorch.
  std::vector<std::string> (*devices)();
};

namespace detail {

// The manifest's fixed part, built by the preprocessor because it must be a constant string.
#if defined(__clang__)
#define SEAM_COMPILER "clang " SEAM_TEXT(__clang_major__)
#else
#define SEAM_COMPILER "gcc " SEAM_TEXT(__GNUC__)
#endif
#define SEAM_TEXT_OF(x) #x
#define SEAM_TEXT(x) SEAM_TEXT_OF(x)
#ifdef _GLIBCXX_DEBUG
#define SEAM_STDLIB "libstdc++ abi" SEAM_TEXT(_GLIBCXX_USE_CXX11_ABI) " debug"
#else
#define SEAM_STDLIB "libstdc++ abi" SEAM_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif
#if defined(__has_feature)  // for Clang; GCC defines a macro
#if __has_feature(address_sanitizer)
#define SEAM_SANITIZER "address"
#elif __has_feature(thread_sanitizer)
#define SEAM_SANITIZER "thread"
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SEAM_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define SEAM_SANITIZER "thread"
#endif
#ifndef SEAM_SANITIZER
#define SEAM_SANITIZER "none"
#endif
#ifdef SEAM_WITH_TENSOR
#if __has_include(<ATen/cuda/CUDAConfig.h>)  // generated; missing in CPU-only builds
#define SEAM_LIBTORCH_VERSION TORCH_VERSION "+cuda"
#else
#define SEAM_LIBTORCH_VERSION TORCH_VERSION "+cpu"
#endif
#else
#define SEAM_LIBTORCH_VERSION "none"
#endif
#ifdef SEAM_WITH_OPENCV
#define SEAM_OPENCV_VERSION CV_VERSION
#else
#define SEAM_OPENCV_VERSION "none"
#endif

inline constexpr std::string_view manifest_head =
    "SEAM PLUGIN\nsdk=" SEAM_SDK_NUMBER "\ncompiler=" SEAM_COMPILER "\nstdlib=" SEAM_STDLIB
    "\nsanitizer=" SEAM_SANITIZER "\nlibtorch=" SEAM_LIBTORCH_VERSION
    "\nopencv=" SEAM_OPENCV_VERSION "\nstages=";

/// The manifest's text: the head, then the stages' names separated by blanks.
template <class... Stages>
consteval auto manifest() {
  constexpr std::size_t size = manifest_head.size() + (0 + ... + (Stages::name.size() + 1)) + 1;
  std::array<char, size> text{};
  std::size_t at = 0;
  for (const char c : manifest_head) text[at++] = c;
  const auto append = [&](std::string_view name) {
    for (const char c : name) text[at++] = c;
    text[at++] = ' ';
  };
  (append(Stages::name), ...);
  text[at - (sizeof...(Stages) > 0 ? 1 : 0)] = '\n';
  return text;
}

template <class... Stages>
inline constexpr std::array<StageEntry, sizeof...(Stages)> stage_entries{
    StageEntry{Stages::name, [] { return std::unique_ptr<Stage>(std::make_unique<Stages>()); }}...};

inline void limit_library_threads([[maybe_unused]] int threads) {
#ifdef SEAM_WITH_OPENCV
  cv::setNumThreads(1);  // stages are already parallel over packets
#endif
#ifdef SEAM_WITH_TENSOR
  at::set_num_threads(threads);
  count_tensor_memory();
#endif
}

#ifdef SEAM_WITH_TENSOR
inline std::vector<std::string> library_devices() {
  std::vector<std::string> devices{"cpu"};
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): a small count, and LibTorch's type for it
  const auto count = static_cast<int>(torch::cuda::device_count());
  for (int number = 0; number < count; ++number) {
    devices.push_back("cuda:" + std::to_string(number));
  }
  return devices;
}
inline constexpr auto devices_of_plugin = &library_devices;
#else
inline constexpr std::vector<std::string> (*devices_of_plugin)() = nullptr;
#endif

template <class... Stages>
const PluginDescriptor& descriptor() {
  static constexpr PluginDescriptor value{stage_entries<Stages...>, &limit_library_threads,
                                          devices_of_plugin};
  return value;
}

}  // namespace detail
}  // namespace seam

/// Exports the given stage classes. Use it once per library. A macro, because it defines a symbol
/// with C linkage and a variable in a separate section.
#define SEAM_PLUGIN(...)                                                                    \
  extern "C" {                                                                              \
  SEAM_EXPORT                                                                               \
  __attribute__((section(".seam_manifest"), used)) extern const auto seam_plugin_manifest = \
      seam::detail::manifest<__VA_ARGS__>();                                                \
  SEAM_EXPORT const seam::PluginDescriptor* seam_plugin() {                                 \
    return &seam::detail::descriptor<__VA_ARGS__>();                                        \
  }                                                                                         \
  }
