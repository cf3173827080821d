// SPDX-License-Identifier: Apache-2.0
/// References between stages: one stage calls another through an interface that both know.
///
///     struct GalleryIndex { virtual ... };                 // a header that both include
///     declaration.offers<GalleryIndex>(*this);             // in the index
///     seam::Ref<GalleryIndex> index_;                      // in the search
///     declaration.reference("index", index_, "the gallery to search");
///
/// In a pipeline file the parameter is the other stage's name: index = "gallery".
/// Refs<T> instead contains every stage upstream in the flow that provides T, in flow order.
#pragma once

#include <cstddef>
#include <vector>

namespace seam {

template <class Interface>
class Ref {
 public:
  [[nodiscard]] bool bound() const { return target_ != nullptr; }
  explicit operator bool() const { return bound(); }
  Interface& operator*() const { return *target_; }
  Interface* operator->() const { return target_; }
  /// For the host and for tests only.
  void bind(Interface* target) { target_ = target; }

 private:
  Interface* target_ = nullptr;  // owned by the stage that provides it, which outlives the run
};

template <class Interface>
class Refs {
 public:
  [[nodiscard]] auto begin() const { return targets_.begin(); }
  [[nodiscard]] auto end() const { return targets_.end(); }
  [[nodiscard]] bool empty() const { return targets_.empty(); }
  [[nodiscard]] std::size_t size() const { return targets_.size(); }
  void add(Interface* target) { targets_.push_back(target); }
  void clear() { targets_.clear(); }

 private:
  std::vector<Interface*> targets_;  // owned by the stages that provide them
};

}  // namespace seam
