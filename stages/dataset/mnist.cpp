#include "stages/dataset/mnist.hpp"

#include <algorithm>
#include <numeric>
#include <system_error>

#include "stages/counted.hpp"
#include "stages/dataset/counted_list.hpp"
#include "stages/dataset/idx_file.hpp"

namespace seam::stages {

namespace fs = std::filesystem;

void Mnist::declare(Declaration& d) {
  d.doc(
      "Serves MNIST, Fashion-MNIST or any data set in the same idx format, one image per packet, "
      "as grey images with three equal channels. image.decode is not needed.");
  d.parameter("root", root_,
              "the folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, "
              "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, or with those ending in .gz")
      .required()
      .folder_with({});
  d.parameter("split", split_, "train: the files train-*; test: the files t10k-*",
              {{"train", Part::train}, {"test", Part::test}});
  d.parameter("classes", classes_,
              "names of the labels 0, 1, 2, ...; a label without a name is rejected");
  d.parameter("shuffle", shuffle_,
              "shuffle the images in every epoch, depending on the run's seed");
  d.parameter("skip", skip_,
              "number of images to skip at the start of the file; together with limit, this holds "
              "out images for validation")
      .at_least(0);
  d.parameter("limit", limit_, "serve at most this many images, counted after skip").at_least(1);
  d.parameter(
       "expect", expect_,
       "number of images that the files must have (60000 and 10000 in MNIST and Fashion-MNIST)")
      .at_least(1)
      .same_results();
  d.provides(field::image).contract("u8[H,W,3]");
  d.provides(field::item).doc("the name of its class");
  d.provides(field::category).doc("the label");
  d.provides(field::index).doc("position in the file, from 0");
  d.offers<CategoryNames>(*this);
  d.offers<Listing>(*this);
}

fs::path Mnist::find(const std::string& file) const {
  const fs::path plain = root_ / file;
  fs::path compressed = plain;
  compressed += ".gz";
  std::error_code fault;
  const bool has_plain = fs::exists(plain, fault);
  const bool has_compressed = fs::exists(compressed, fault);
  if (has_plain && has_compressed) {
    throw Error("'" + root_.string() + "' has both '" + file + "' and '" + file +
                ".gz'; remove one, since they may differ");
  }
  if (!has_plain && !has_compressed) {
    throw Error(
        "no file '" + plain.string() +
        "', with or without .gz; set 'root' to the folder with the data set's four files" +
        (split_ == Part::train ? ", or split = \"test\" if it has only the t10k files" : ""));
  }
  return has_plain ? plain : compressed;
}

void Mnist::open(Context& context) {
  if (classes_.empty()) {
    throw Error("'classes' is empty; list the names of the labels 0, 1, 2, ...",
                Fault::configuration);
  }
  for (auto at = classes_.begin(); at != classes_.end(); ++at) {
    if (std::find(classes_.begin(), at, *at) == at) continue;
    throw Error("'classes' names '" + *at + "' twice", Fault::configuration);
  }
  const std::string part = split_ == Part::train ? "train" : "t10k";
  const fs::path images_file = find(part + "-images-idx3-ubyte");
  const fs::path labels_file = find(part + "-labels-idx1-ubyte");
  IdxArray images = read_idx(images_file, 3, "images");
  IdxArray labels = read_idx(labels_file, 1, "labels");
  const std::int64_t count = images.sizes[0];
  if (labels.sizes[0] != count) {
    throw Error("'" + images_file.string() + "' holds " + counted(count, "image") + ", but '" +
                labels_file.string() + "' holds " + counted(labels.sizes[0], "label") +
                "; they are not from the same data set");
  }
  if (expect_ && *expect_ != count) {
    refuse_count("'" + images_file.string() + "' holds " + counted(count, "image"),
                 grouped(*expect_), "data set");
  }
  constexpr std::int64_t longest_side = 65'535;
  if (images.sizes[1] > longest_side || images.sizes[2] > longest_side) {
    throw Error("'" + images_file.string() + "' holds images of " +
                width_by_height(images.sizes[2], images.sizes[1]) +
                " pixels, but no side may exceed " + grouped(longest_side));
  }
  file_ = std::make_shared<const std::string>(images_file.string());
  height_ = static_cast<int>(images.sizes[1]);
  width_ = static_cast<int>(images.sizes[2]);
  pixels_ = std::move(images.values);
  labels_ = std::move(labels.values);
  const auto text = [](const std::vector<std::uint8_t>& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  digest_ = stream_of(std::to_string(stream_of(text(pixels_))) + std::string(text(labels_)));
  check_labels(labels_file);
  choose(context);
}

void Mnist::check_labels(const fs::path& file) const {
  const auto wrong = std::find_if(labels_.begin(), labels_.end(),
                                  [&](std::uint8_t label) { return label >= classes_.size(); });
  if (wrong == labels_.end()) return;
  throw Error("'" + file.string() + "': the label of image " +
              std::to_string(wrong - labels_.begin()) + " (from 0) is " + std::to_string(*wrong) +
              ", but 'classes' names " + counted(classes_.size(), "label") +
              ", from 0; name them all");
}

void Mnist::choose(Context& context) {
  const auto count = static_cast<std::int64_t>(labels_.size());
  if (skip_ >= count) {
    throw Error("skip is " + grouped(skip_) + ", but '" + *file_ + "' holds " +
                    counted(count, "image") + ": no image is left",
                Fault::configuration);
  }
  const std::int64_t served = std::min(limit_.value_or(count), count - skip_);
  order_.resize(static_cast<std::size_t>(served));
  std::vector<bool> seen(classes_.size());
  for (std::int64_t row = skip_; row < skip_ + served; ++row) {
    seen[labels_[static_cast<std::size_t>(row)]] = true;
  }
  context.info(counted(count, "image") + " of " + std::to_string(height_) + "x" +
               std::to_string(width_) + " pixels, serving " + grouped(served) + " of " +
               counted(std::count(seen.begin(), seen.end(), true), "class", "classes"));
  if (limit_ && *limit_ > served) {
    context.warn("limit is " + grouped(*limit_) + ", but only " + counted(served, "image") +
                 (served == 1 ? " is there" : " are there"));
  }
  for (std::size_t label = 0; label < seen.size(); ++label) {
    if (!seen[label]) context.warn("no image of class '" + classes_[label] + "' is served");
  }
}

void Mnist::begin(Context& context) {
  std::iota(order_.begin(), order_.end(), static_cast<std::uint32_t>(skip_));
  if (shuffle_) context.random(std::uint64_t{0}).shuffle(std::span(order_));
  next_ = 0;
}

Image Mnist::picture(std::size_t row) const {
  Image image(height_, width_, 3);
  const std::size_t size = static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_);
  const auto grey = std::span(pixels_).subspan(row * size, size);
  std::uint8_t* out = image.data();
  for (const std::uint8_t value : grey) out = std::fill_n(out, 3, value);
  return image;
}

More Mnist::produce(Emitter& emitter, Context& /*context*/) {
  if (next_ >= order_.size()) return More::no;
  const std::size_t at = next_++;
  const std::size_t row = order_[at];
  const std::uint8_t label = labels_[row];
  Packet packet(Origin{file_, 0, "picture " + std::to_string(row)});
  packet.set(field::image, picture(row));
  packet.set(field::item, classes_[label]);
  packet.set(field::category, std::int64_t{label});
  packet.set(field::index, static_cast<std::int64_t>(row));
  emitter.emit(std::move(packet));
  return next_ < order_.size() ? More::yes : More::no;
}

}  // namespace seam::stages
