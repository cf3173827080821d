/// Base class of samplers that collect the images of an epoch, then emit groups of them.
///
///     images ──► [ rows ] ──► group 0 │ group 1 │ ...
///
/// It collects names and labels, not pixels, so it belongs before the decoder.
#pragma once

#include <seam/stage.hpp>
#include <unordered_map>

namespace seam::stages {

class EpochSampler : public Collector {
 public:
  void begin(Context& /*context*/) override {
    rows_.clear();
    items_.clear();
    numbers_.clear();
    count_.reset();
    next_ = 0;
  }

  void process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) override {
    const auto next = static_cast<std::int64_t>(numbers_.size());
    items_.push_back(numbers_.try_emplace(packet.get(field::item), next).first->second);
    packet.erase(field::group_size);  // of a group that the data set made
    rows_.push_back(std::move(packet));
  }

  /// Emits one group per call.
  More end(Emitter& emitter, Context& context) final {
    if (!count_) {
      if (rows_.empty()) return More::no;  // a stopped flow
      count_ = start(context);
    }
    for (Packet& packet : group(next_, context)) {
      packet.set(field::group, next_);
      emitter.emit(std::move(packet));
    }
    return ++next_ < *count_ ? More::yes : More::no;
  }

 protected:
  /// The number of groups of this epoch, all of whose images have been received.
  [[nodiscard]] virtual std::int64_t start(const Context& context) = 0;
  /// The images of group `number`; it depends only on the seed, the epoch and the number.
  [[nodiscard]] virtual std::vector<Packet> group(std::int64_t number, const Context& context) = 0;

  [[nodiscard]] const std::vector<Packet>& rows() const { return rows_; }
  [[nodiscard]] const Packet& row(std::int64_t number) const {
    return rows_[static_cast<std::size_t>(number)];
  }
  /// The item of each row, numbered from 0 in order of first appearance.
  [[nodiscard]] const std::vector<std::int64_t>& items() const { return items_; }

 private:
  std::vector<Packet> rows_;
  std::vector<std::int64_t> items_;
  std::unordered_map<std::string, std::int64_t> numbers_;  // of the items
  std::optional<std::int64_t> count_;                      // of the groups, once they are drawn
  std::int64_t next_ = 0;
};

}  // namespace seam::stages
