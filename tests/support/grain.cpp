// In every test program: loops divide even small work among threads, as stages/cpu/grain.hpp
// explains. Processes that a test starts inherit it.

#include <cstdlib>

namespace {

// Before main(), so that no thread is running yet; an outer SEAM_GRAIN wins.
[[maybe_unused]] const int divided = setenv("SEAM_GRAIN", "1", 0);  // NOLINT(concurrency-mt-unsafe)

}  // namespace
