#include "stages/batch/batch.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <seam/box.hpp>

#include "stages/picture_paths.hpp"

namespace seam::stages {
namespace {

std::string size_text(int height, int width) {
  return std::to_string(width) + " x " + std::to_string(height) + " pixels";
}

void take_three(const std::vector<double>& values, std::array<float, 3>& target,
                const std::string& parameter) {
  if (values.empty()) return;
  if (values.size() != target.size()) {
    throw Error("parameter '" + parameter + "' has " + std::to_string(values.size()) +
                    " numbers; give three, for red, green and blue, or none",
                Fault::configuration);
  }
  for (const double value : values) {
    if (value >= 0 && value <= 1) continue;
    throw Error(
        "parameter '" + parameter + "' has " + to_text(Value{value}) +
            ", but the values are from 0 to 1; divide numbers for values from 0 to 255 by 255",
        Fault::configuration);
  }
  std::ranges::transform(values, target.begin(), [](double v) { return static_cast<float>(v); });
}

std::optional<std::int64_t> whole_group(const Packet& packet) {
  if (!packet.has(field::group) || !packet.has(field::group_size)) return std::nullopt;
  const std::int64_t images = packet.get(field::group_size);
  if (images >= 1) return images;
  throw Error("group_size is " + std::to_string(images) + ", but a group has at least one image",
              Fault::internal);
}

template <class T>
T value_or(const Packet& packet, const Field<T>& key, const T& otherwise) {
  return packet.has(key) ? packet.get(key) : otherwise;
}

}  // namespace

struct BatchMemory::Shelf {
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, alignment); }
  };
  using Block = std::unique_ptr<float, Free>;
  static constexpr std::align_val_t alignment{64};
  static constexpr std::size_t most_blocks = 4;  // one in the model, the rest in flight

  std::mutex mutex;
  std::size_t count = 0;  // number of floats per block
  std::vector<Block> blocks;
};

BatchMemory::BatchMemory(HostMemory kind) : kind_(kind), shelf_(std::make_shared<Shelf>()) {}

std::shared_ptr<float> BatchMemory::take(std::size_t count) {
  Shelf::Block block;
  {
    const std::scoped_lock lock(shelf_->mutex);
    if (shelf_->count != count) shelf_->blocks.clear();
    shelf_->count = count;
    if (!shelf_->blocks.empty()) {
      block = std::move(shelf_->blocks.back());
      shelf_->blocks.pop_back();
    }
  }
  if (block == nullptr) {
    block.reset(static_cast<float*>(
        ::operator new(std::max<std::size_t>(count, 1) * sizeof(float), Shelf::alignment)));
  }
  return {block.release(), [shelf = shelf_, count](float* memory) {
            Shelf::Block back(memory);
            const std::scoped_lock lock(shelf->mutex);
            if (shelf->count == count && shelf->blocks.size() < Shelf::most_blocks) {
              shelf->blocks.push_back(std::move(back));
            }
          }};
}

Tensor BatchMemory::floats(std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  if (kind_ == HostMemory::pinned) {
    return torch::empty({size}, torch::TensorOptions(torch::kFloat32).pinned_memory(true));
  }
  std::shared_ptr<float> room = take(count);
  float* const data = room.get();
  return torch::from_blob(
      data, {size}, [keep = std::move(room)](void*) {}, torch::kFloat32);
}

Tensor images_to_tensor(std::span<const Image> images, BatchMemory& memory,
                        const Normalisation& normalisation) {
  const auto count = static_cast<std::int64_t>(images.size());
  const std::int64_t height = images.empty() ? 0 : images.front().height();
  const std::int64_t width = images.empty() ? 0 : images.front().width();
  const std::int64_t pixels = height * width;
  const Tensor room = memory.floats(static_cast<std::size_t>(count * 3 * pixels));
  auto* out = room.data_ptr<float>();
  for (const Image& image : images) {
    if (image.height() != height || image.width() != width || image.channels() != 3) {
      throw Error(
          "the images of a tensor must have one size and three channels; put image.resize before "
          "batch");
    }
    pixels_to_floats(image, normalisation, {out, image.bytes()});
    out += image.bytes();
  }
  return room.as_strided({count, 3, height, width}, {3 * pixels, 1, 3 * width, 3});
}

void Batch::declare(Declaration& d) {
  d.doc(
      "Collects single images into one tensor, with the fields of each image in the same order. "
      "Packets that share a `group` stay together.");
  d.parameter("size", size_, "maximum number of images per batch").range(1, 1 << 20);
  d.parameter("last", last_, "whether to keep or drop an incomplete last batch",
              {{"keep", Last::keep}, {"drop", Last::drop}});
  d.parameter("mean", mean_,
              "per-channel mean (RGB) to subtract from the values, which are 0 to 1; empty: 0");
  d.parameter("deviation", deviation_,
              "per-channel standard deviation (RGB) to divide by; empty: 1");
  d.parameter(
      "carry", carry_,
      "further fields to collect, of any type: \"view\", named \"views\" in the batch, or \"view "
      "as angles\"; numbers become a tensor, other types a vector unless their FieldTraits differ");
  carried_.declare(d, carry_);
  d.needs(field::image).contract("u8[H,W,3]").doc("all images of a flow must have the same size");
  d.accepts(field::item).doc("empty if absent");
  d.accepts(field::category).doc("-1 if absent");
  d.accepts(field::index).doc("-1 if absent");
  d.accepts(field::path).doc("empty if absent");
  const bool reads_box = std::ranges::any_of(carry_, [](const std::string& entry) {
    return parse_carried(entry).from == field::box.name;
  });
  d.accepts(field::box)
      .doc(
          "put image.crop with box = true after image.decode (a file may contain several images), "
          "set boxes = \"ignore\" in the data set, or carry the field")
      .values(reads_box ? std::vector<std::string>{} : std::vector<std::string>{"cut out"});
  d.accepts(field::group).doc("-1 if absent: each image is its own group");
  d.accepts(field::group_size).doc("any size if absent; otherwise incomplete groups are dropped");
  d.accepts(field::role).doc("single if absent");
  d.provides(field::images).contract("f32[N,3,H,W]");
  d.provides(field::items);
  d.provides(field::categories);
  d.provides(field::indices);
  d.provides(field::groups);
  d.provides(field::roles).values({"single"}, "role");
  d.provides(field::origins);
  d.provides(field::packet_numbers);
  d.provides(field::paths).doc("the `path` of each row, followed by its `box` if it has one");
  d.offers<ConsecutiveBatches>(*this);
  d.replaces_packets();
}

void Batch::open(Context& context) {
  take_three(mean_, normalisation_.mean, "mean");
  take_three(deviation_, normalisation_.deviation, "deviation");
  if (std::ranges::any_of(normalisation_.deviation, [](float v) { return !(v > 0); })) {
    throw Error("parameter 'deviation' must be above 0: it divides", Fault::configuration);
  }
  if (device_of(context).is_cuda()) memory_ = BatchMemory(HostMemory::pinned);
}

void Batch::begin(Context& /*context*/) {
  pattern_.reset();
  full_group_.reset();
  carried_.begin();
  ready_.clear();
  group_.clear();
}

void Batch::check(const Packet& packet) const {
  const Image& image = packet.get(field::image);
  if (image.empty() || image.bytes() == 0 || image.channels() != 3) {
    throw Error("a batch needs images with three channels; this one has " +
                std::to_string(image.channels()));
  }
  if (!pattern_) return;
  if (image.height() != pattern_->height || image.width() != pattern_->width) {
    throw Error("'" + packet.origin().text() + "' has " + size_text(image.height(), image.width()) +
                ", but '" + pattern_->origin.text() + "' has " +
                size_text(pattern_->height, pattern_->width) +
                ", and a tensor holds one size; put image.resize before batch");
  }
}

void Batch::process(Packet packet, Emitter& emitter, Context& /*context*/) {
  const bool grouped = packet.has(field::group);
  const bool goes_on = grouped && !group_.empty() && group_.back().has(field::group) &&
                       group_.back().get(field::group) == packet.get(field::group);
  if (!goes_on) close_group(emitter);
  const std::optional<std::int64_t> whole = whole_group(packet);
  if (goes_on && whole != whole_group(group_.back())) {
    throw Error("the images of group " + std::to_string(packet.get(field::group)) +
                    " have different group_size",
                Fault::internal);
  }
  if (whole.value_or(0) > size_ || (grouped && full_group_ == packet.get(field::group))) {
    const std::string group = "group " + std::to_string(packet.get(field::group));
    throw Error(whole && *whole <= size_
                    ? group + " has more images than its group_size, " + std::to_string(*whole)
                    : group + " has more than the " + std::to_string(size_) +
                          " images of a batch; raise size",
                Fault::configuration);
  }
  full_group_.reset();
  check(packet);
  carried_.check(packet);
  if (!pattern_) {
    const Image& image = packet.get(field::image);
    pattern_ = {.origin = packet.origin(), .height = image.height(), .width = image.width()};
  }
  group_.push_back(std::move(packet));
  const bool full = grouped && std::ssize(group_) == whole.value_or(size_);
  if (full) full_group_ = group_.back().get(field::group);
  if (!grouped || full) close_group(emitter);
}

void Batch::close_group(Emitter& emitter) {
  if (group_.empty()) return;
  const auto size = static_cast<std::size_t>(size_);
  const auto arrived = static_cast<std::int64_t>(group_.size());
  const std::int64_t whole = whole_group(group_.front()).value_or(arrived);
  if (arrived < whole) {
    for (const Packet& packet : group_) {
      emitter.drop(packet, "its group has " + std::to_string(arrived) + " of " +
                               std::to_string(whole) + " images");
    }
    group_.clear();
    return;
  }
  if (ready_.size() + group_.size() > size || is_of_next_batch()) emit(emitter);
  std::ranges::move(group_, std::back_inserter(ready_));
  group_.clear();
  if (ready_.size() == size) emit(emitter);
}

bool Batch::is_of_next_batch() const {
  const auto size = static_cast<std::uint64_t>(size_);
  return is_part_ && !ready_.empty() &&
         ready_.front().sequence() / size != group_.front().sequence() / size;
}

void Batch::emit(Emitter& emitter) {
  Packet batch = gather();
  ready_.clear();  // frees the images before the model runs
  emitter.emit(std::move(batch));
}

More Batch::end(Emitter& emitter, Context& /*context*/) {
  close_group(emitter);
  if (!ready_.empty()) {
    if (last_ == Last::keep) {
      emit(emitter);
    } else {
      for (const Packet& packet : ready_) {
        emitter.drop(packet, "the last batch has " + std::to_string(ready_.size()) + " of " +
                                 std::to_string(size_) + " images, and last = \"drop\"");
      }
    }
  }
  ready_.clear();
  pattern_.reset();
  return More::no;
}

Pause Batch::pause(Context& context) {
  const std::vector<Packet>& oldest = ready_.empty() ? group_ : ready_;
  if (!oldest.empty()) context.holds_from(oldest.front().sequence());
  return Pause::ready;
}

Packet Batch::gather() {
  Packet batch(ready_.front().origin());
  std::vector<Image> images;
  images.reserve(ready_.size());
  auto& items = batch[field::items];
  auto& categories = batch[field::categories];
  auto& indices = batch[field::indices];
  auto& groups = batch[field::groups];
  auto& roles = batch[field::roles];
  auto& origins = batch[field::origins];
  auto& paths = batch[field::paths];
  auto& numbers = batch[field::packet_numbers];
  for (const Packet& packet : ready_) {
    images.push_back(packet.get(field::image));
    items.push_back(value_or(packet, field::item, {}));
    categories.push_back(value_or(packet, field::category, std::int64_t{-1}));
    indices.push_back(value_or(packet, field::index, std::int64_t{-1}));
    groups.push_back(value_or(packet, field::group, std::int64_t{-1}));
    roles.push_back(value_or(packet, field::role, Role::single));
    origins.push_back(packet.origin());
    numbers.push_back(static_cast<std::int64_t>(packet.sequence()));
    const std::filesystem::path path = value_or(packet, field::path, {});
    const bool is_part = !path.empty() && packet.has(field::box);
    paths.push_back(is_part ? boxed_path(path, packet.get(field::box)) : path);
  }
  batch.set(field::images, images_to_tensor(images, memory_, normalisation_));
  carried_.gather(ready_, batch);
  return batch;
}

}  // namespace seam::stages
