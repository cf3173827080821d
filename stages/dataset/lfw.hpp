/// The source `dataset.lfw`: Labeled Faces in the Wild, 13,233 images of 5,749 people.
///
///     ROOT/Abel_Pacheco/Abel_Pacheco_0001.jpg      item "Abel_Pacheco"
///
/// For the pairs of its lists, use `dataset.lfw_pairs`.
#pragma once

#include "stages/dataset/listed_pictures.hpp"

namespace seam::stages {

class Lfw final : public ListedPictures {
 public:
  static constexpr std::string_view name = "dataset.lfw";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  /// Names of the people that are left out.
  [[nodiscard]] std::set<std::string> left_out() const;
  /// Throws if a person has no folder, or only warns if `expect` is 0. `present` is sorted.
  void check_present(const std::set<std::string>& people, const std::vector<std::string>& present,
                     const std::filesystem::path& list, const std::string& what,
                     const Context& context) const;

  std::filesystem::path root_;
  std::int64_t expect_ = 13'233;
  std::filesystem::path only_;
  std::filesystem::path leave_out_;
  std::optional<std::int64_t> leave_out_fold_;
};

}  // namespace seam::stages
