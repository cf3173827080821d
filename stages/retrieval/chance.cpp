#include "stages/retrieval/chance.hpp"

namespace seam::stages {

double chance_of_hit(std::int64_t gallery, std::int64_t relevant, std::int64_t k) {
  if (relevant < 1) return 0;
  double miss = 1;
  for (std::int64_t rank = 0; rank < k; ++rank) {
    if (gallery - relevant - rank < 1) return 1;
    miss *= static_cast<double>(gallery - relevant - rank) / static_cast<double>(gallery - rank);
  }
  return 1 - miss;
}

}  // namespace seam::stages
