/// The meaning of distances under a ranking method, which a gallery names: those of "exact" are by
/// the metric, those of "exact/rerank=k-reciprocal(20,6,0.3)-of-200" by the re-ranking.
#pragma once

#include <seam/retrieval.hpp>

namespace seam::stages {

inline bool is_reranked(const std::string& method) {
  return method.find("rerank=") != std::string::npos;
}

/// Returns the order of neighbours, as in protocols: "cosine", or, if the search was not exact or
/// its neighbours were changed, "cosine/search=exact/rerank=k-reciprocal(20,6,0.3)-of-200".
inline std::string order_of(retrieval::Metric metric, const std::string& method) {
  return to_string(metric) + (method == "exact" ? "" : "/search=" + method);
}

}  // namespace seam::stages
