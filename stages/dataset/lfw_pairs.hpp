/// The source `dataset.lfw_pairs`: the pairs of a list of Labeled Faces in the Wild, two images per
/// pair.
///
///     pairs.txt ──► fold, part ──► packets 2k, 2k + 1: the images of a pair
///
/// The lists, as their authors publish them:
///
///     10   300                      pairs.txt (View 2): 10 folds of 300 + 300 pairs; in
///     Abel_Pacheco   1   4          pairsDevTrain.txt and pairsDevTest.txt (View 1) only "1100"
///     ...                           300 pairs of one person: NAME, two images' numbers
///     Abdel_Madi_Shabneh 1 Dean_Barker 1
///     ...                           300 pairs of two: NAME, number, NAME, number
///
/// Huang, Ramesh, Berg, Learned-Miller, "Labeled faces in the wild", 2007.
#pragma once

#include <compare>
#include <seam/stage.hpp>

#include "stages/dataset/counted_list.hpp"
#include "stages/served_items.hpp"

namespace seam::stages {

struct LfwImage {
  std::string person;
  std::int64_t number = 0;  ///< from 1

  /// "Abel_Pacheco/Abel_Pacheco_0001.jpg"
  [[nodiscard]] std::string path() const;
  friend auto operator<=>(const LfwImage&, const LfwImage&) = default;
};

struct LfwPair {
  LfwImage first;
  LfwImage second;
  std::int64_t number = 0;  ///< position in the list, from 0
  std::int64_t fold = 0;
  std::int64_t line = 0;

  [[nodiscard]] bool same() const { return first.person == second.person; }
};

struct LfwPairList {
  std::int64_t folds = 1;
  std::int64_t pairs_of_each_kind = 0;  ///< per fold
  std::vector<LfwPair> pairs;
};

/// Throws seam::Error with file and line if the list is malformed, does not have the pairs that its
/// first line declares, or has a pair of the same image or a pair twice.
[[nodiscard]] LfwPairList parse_lfw_pairs(const ListText& list);

class LfwPairs final : public Source, public ServedItems {
 public:
  static constexpr std::string_view name = "dataset.lfw_pairs";

  void declare(Declaration& d) override;
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
  std::size_t next_ = 0;
};

}  // namespace seam::stages
