/// The meaning of distances under a ranking method.
///
///     exact/expand=average(10)/rerank=k-reciprocal(20,6,0.3)-of-200
///           │                  └ distances are of the re-ranking, no longer of the metric
///           └ distances are to the query as it was moved
#pragma once

#include <seam/retrieval.hpp>

#include <string>

namespace seam::stages {

inline bool is_reranked(const std::string& method) {
  return method.find("rerank=") != std::string::npos;
}

inline bool is_expanded(const std::string& method) {
  return method.find("expand=") != std::string::npos;
}

/// Whether gallery images of a query's own sequence are left out.
inline bool leaves_out_sequences(const std::string& method) {
  return method.find("/sequence=left-out") != std::string::npos;
}

/// Returns the order of neighbours, as in protocols: "cosine", or, if the search was not exact or
/// its neighbours were changed, "cosine/search=exact/rerank=k-reciprocal(20,6,0.3)-of-200".
inline std::string order_of(retrieval::Metric metric, const std::string& method) {
  return to_string(metric) + (method == "exact" ? "" : "/search=" + method);
}

}  // namespace seam::stages
