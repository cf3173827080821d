#include "seam/backward.hpp"

namespace seam {
namespace {

thread_local BackwardListener* current = nullptr;

}  // namespace

BackwardListener::~BackwardListener() = default;

BackwardScope::BackwardScope(BackwardListener* listener) : before_(current) {
  current = listener;
}

BackwardScope::~BackwardScope() {
  current = before_;
}

BackwardListener* BackwardScope::listener() {
  return current;
}

}  // namespace seam
