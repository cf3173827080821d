// SPDX-License-Identifier: Apache-2.0
/// How a stage reaches another one, rather than a packet: through an interface both know.
///
///     struct GalleryIndex { virtual ... };                 // a header that both include
///     declaration.offers<GalleryIndex>(*this);             // in the index
///     seam::Ref<GalleryIndex> index_;                      // in the search
///     declaration.reference("index", index_, "the gallery to search");
///
/// In a pipeline file the parameter is the other stage's name: index = "gallery".
/// Refs<T> instead holds every stage upstream in the flow that offers T, in flow order.
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
  /// The host's business, and a test's.
  void bind(Interface* target) { target_ = target; }

 private:
  Interface* target_ = nullptr;  // owned by the stage that offers it, which outlives the run
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
  std::vector<Interface*> targets_;  // owned by the stages that offer them
};

}  // namespace seam
