/// The stage that turns single images into tensors for a model.
///
///     image image image ... ──► [ batch ] ──► images f32[N,3,H,W], items, categories, `carry`
///     └─ group 7 ──┘ └─ group 8               never a group in two batches
#pragma once

#include <seam/shard.hpp>

#include "stages/batch/carried_fields.hpp"
#include "stages/image/pixels_to_floats.hpp"

namespace seam::stages {

/// The memory in which a batch waits for the device.
enum class HostMemory : std::uint8_t {
  pageable,  ///< for a run on the CPU
  /// For a run on a GPU, which copies it while the host continues. LibTorch owns these blocks:
  /// after its tensor is destroyed, a block is reused once the copies from it have finished.
  pinned,
};

/// Reuses the memory of past batches. Fresh memory costs a page fault every 4 KiB, which takes
/// longer than filling it. A tensor's memory returns here when its last handle is destroyed, on any
/// thread and even after the pool itself.
class BatchMemory {
 public:
  explicit BatchMemory(HostMemory kind = HostMemory::pageable);
  /// Memory for `count` floats, uninitialised, aligned to 64 bytes; pageable.
  [[nodiscard]] std::shared_ptr<float> take(std::size_t count);
  /// The same as f32[count], in memory of the kind.
  [[nodiscard]] Tensor floats(std::size_t count);

 private:
  struct Shelf;
  HostMemory kind_;
  std::shared_ptr<Shelf> shelf_;
};

/// The images, which must have one size and 3 channels, as f32[N,3,H,W], with the channels of a
/// pixel next to each other in memory (channels last), which is fastest for convolutions on CPUs.
Tensor images_to_tensor(std::span<const Image> images, BatchMemory& memory,
                        const Normalisation& normalisation = {});

class Batch final : public Collector, public ConsecutiveBatches {
 public:
  static constexpr std::string_view name = "batch";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet packet, Emitter& emitter, Context& context) override;
  More end(Emitter& emitter, Context& context) override;
  Pause pause(Context& context) override;
  [[nodiscard]] std::uint64_t batch_size() const override {
    return last_ == Last::drop ? 0 : static_cast<std::uint64_t>(size_);
  }
  void begin_part() override { is_part_ = true; }

 private:
  enum class Last : std::uint8_t { keep, drop };
  /// The flow's first image, whose size the others must have.
  struct Pattern {
    Origin origin;
    int height = 0;
    int width = 0;
  };

  void check(const Packet& packet) const;
  void close_group(Emitter& emitter);
  /// Whether the group belongs to another batch than the complete ones.
  [[nodiscard]] bool is_of_next_batch() const;
  void emit(Emitter& emitter);
  [[nodiscard]] Packet gather();

  int size_ = 32;
  Last last_ = Last::keep;
  std::vector<double> mean_;
  std::vector<double> deviation_;
  std::vector<std::string> carry_;

  Normalisation normalisation_;
  BatchMemory memory_;
  std::optional<Pattern> pattern_;
  CarriedFields carried_;
  std::vector<Packet> ready_;               // complete groups
  std::vector<Packet> group_;               // the group that is arriving
  std::optional<std::int64_t> full_group_;  // if the previous packet completed it
  bool is_part_ = false;
};

}  // namespace seam::stages
