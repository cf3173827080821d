#include "pipeline/run/agreement.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

#include "pipeline/run/checksum.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

/// The file that contains the functions of the SDK, libseam.so.
std::string sdk_library() {
  // In a program that is not position-independent, &caught_error is an address in the program.
  const void* const function = ::dlsym(RTLD_NEXT, "_ZN4seam12caught_errorEv");
  Dl_info info{};
  const bool found = function != nullptr && ::dladdr(function, &info) != 0;
  return found && info.dli_fname != nullptr ? info.dli_fname : "libseam.so";
}

/// Throws seam::Error if the file cannot be read: ranks that cannot read theirs would agree.
std::string sha256_of_readable(const std::string& file) {
  std::string hash = sha256_of_file(file);
  if (hash.empty()) throw Error("cannot read '" + file + "' to compare it with the other ranks'");
  return hash;
}

/// The first processor's name in /proc/cpuinfo; empty if it has none.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name") || line.starts_with("CPU part")) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

std::string sha256_of(const Archive& archive) {
  Sha256 hash;
  for (const auto& [name, entry] : archive.entries()) {
    std::string head = "\n" + name + " " + entry.type;
    for (const std::int64_t size : entry.shape) head += " " + std::to_string(size);
    hash.add(std::as_bytes(std::span(head)));
    hash.add(entry.bytes);
  }
  return hash.finish();
}

/// A name that only one of two lists has.
constexpr const char* absent = "nothing";

}  // namespace

Terms terms_of(const Launch& launch, const PipelineSpec& spec, const RunOptions& options) {
  Terms terms{{"version", launch.version},
              {"SHA-256 of the program", sha256_of_readable("/proc/self/exe")},
              {"SHA-256 of libseam.so", sha256_of_readable(sdk_library())},
              {"processor", processor()},
              {"threads", std::to_string(options.threads)},
              {"numerics", to_text(options.numerics)},
              {"lanes", std::to_string(spec.lanes.count)},
              {"SHA-256 of the pipeline", sha256(spec.resolved)}};
  for (const PluginUsed& plugin : launch.plugins) {
    const std::string name = std::filesystem::path(plugin.path).filename().string();
    terms.emplace_back("SHA-256 of " + name, plugin.sha256);
    terms.emplace_back("LibTorch of " + name, plugin.libtorch);
  }
  for (const auto& [key, hash] : launch.data) terms.emplace_back("content of " + key, hash);
  return terms;
}

Terms terms_of(const std::vector<StageState>& states) {
  Terms terms;
  for (const StageState& state : states) {
    terms.emplace_back("SHA-256 of the state of stage '" + state.name + "'",
                       sha256_of(state.archive));
  }
  return terms;
}

void agree_on(const Terms& terms, Ranks& ranks) {
  const std::string own = json_line(terms);
  const auto all = ranks.all_gather("an agreement", own, Patience::flow);
  const auto first = parse_json(all.front()).get<Terms>();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    const auto other = parse_json(all[rank]).get<Terms>();
    std::string text;
    for (std::size_t at = 0; at < std::max(first.size(), other.size()); ++at) {
      const auto here = at < first.size() ? first[at] : Terms::value_type{other[at].first, absent};
      const auto there = at < other.size() ? other[at] : Terms::value_type{first[at].first, absent};
      if (here == there) continue;
      text += fmt::format("\n{}: {} on rank 0, {} on rank {}", here.first, here.second,
                          there.second, rank);
    }
    refuse(
        "the ranks would not compute the same; all of them need the same program, plugins, files, "
        "options and type of processor:{}",
        text);
  }
}

bool agree_to_stop(Ranks& ranks) {
  if (!ranks.shall_stop()) (void)ranks.all_gather("the end of a flow", {}, Patience::flow);
  return ranks.shall_stop();
}

}  // namespace seam::host
