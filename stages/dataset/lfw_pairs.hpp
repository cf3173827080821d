/// The source `dataset.lfw_pairs`: the pairs of a list of Labeled Faces in the Wild, two images per
/// pair.
///
///     pairs.txt ──► fold, part ──► packets 2k, 2k + 1: the images of a pair
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/lfw_pair_list.hpp"
#include "stages/served_items.hpp"

namespace seam::stages {

class LfwPairs final : public Source, public ServedItems {
 public:
  static constexpr std::string_view name = "dataset.lfw_pairs";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const Names& served_items() const override { return people_; }

 private:
  enum class Part : std::uint8_t { all, train, held_out };

  void check_images() const;

  std::filesystem::path root_;
  std::filesystem::path list_;
  std::optional<std::int64_t> fold_;
  Part part_ = Part::all;
  std::optional<std::int64_t> expect_;
  bool shuffle_ = false;

  std::shared_ptr<const std::string> list_name_;
  std::vector<LfwPair> pairs_;  // those served, in the order of the list
  Names people_;                // of those
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;  // packet of this rank
};

}  // namespace seam::stages
