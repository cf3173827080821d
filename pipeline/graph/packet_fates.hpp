/// Finds packets that a collector both emitted and dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seam::host {

class PacketFates {
 public:
  /// `sequence`: number of a packet that the collector received. 0 is ignored, because packets that
  /// the collector made have it as well.
  void sent(std::uint64_t sequence) { note(sequence, sent_, dropped_); }
  void dropped(std::uint64_t sequence) { note(sequence, dropped_, sent_); }
  /// Number of packets that were both emitted and dropped.
  [[nodiscard]] std::uint64_t both() const { return both_; }

 private:
  void note(std::uint64_t sequence, std::vector<bool>& noted, const std::vector<bool>& other) {
    if (sequence == 0) return;
    const auto at = static_cast<std::size_t>(sequence);
    if (noted.size() <= at) noted.resize(at + 1);
    if (!noted[at] && at < other.size() && other[at]) ++both_;
    noted[at] = true;
  }

  std::vector<bool> sent_;
  std::vector<bool> dropped_;
  std::uint64_t both_ = 0;
};

}  // namespace seam::host
