#include "stages/retrieval/expansion.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <seam/error.hpp>
#include <vector>

#include "stages/counted.hpp"
#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages {
namespace {

constexpr double smallest_norm = 1e-12;
constexpr double unit_tolerance = 1e-3;

double norm_of(const float* vector, std::int64_t dimensions) {
  return std::sqrt(inner_product(vector, vector, dimensions));
}

void check_unit(double norm, retrieval::Metric metric, const std::string& whose) {
  if (metric == retrieval::Metric::cosine || std::abs(norm - 1) <= unit_tolerance) return;
  throw Error("expanded vectors have unit length, but " + whose + " has length " + text_of(norm) +
                  " and is compared by squared_euclidean, which depends on length; set metric = "
                  "\"cosine\" for the retrieval.index, or scale embeddings to unit length",
              Fault::configuration);
}

}  // namespace

std::string Expansion::text() const {
  const std::string count = std::to_string(neighbours);
  return alpha == 0 ? "average(" + count + ")" : "alpha(" + count + "," + text_of(alpha) + ")";
}

torch::Tensor expanded(const torch::Tensor& queries, const torch::Tensor& gallery,
                       const retrieval::Neighbours& found, retrieval::Metric metric,
                       const Expansion& expansion, const retrieval::NameOfRow& name_of_query) {
  const torch::Tensor from = queries.contiguous();
  const torch::Tensor rows = gallery.contiguous();
  const std::int64_t dimensions = from.size(1);
  torch::Tensor result = torch::empty_like(from);
  std::vector<double> sum(static_cast<std::size_t>(dimensions));
  for (std::int64_t q = 0; q < from.size(0); ++q) {
    const float* query = from.data_ptr<float>() + q * dimensions;
    const double norm = norm_of(query, dimensions);
    if (!(norm >= smallest_norm)) {
      throw Error("the embedding of '" + name_of_query(q) +
                  "' has no direction, so it cannot be expanded");
    }
    check_unit(norm, metric, "'" + name_of_query(q) + "'");
    for (std::int64_t d = 0; d < dimensions; ++d) {
      sum[static_cast<std::size_t>(d)] = query[d] / norm;
    }
    for (std::int64_t n = 0; n < found.k; ++n) {
      const auto at = static_cast<std::size_t>(q * found.k + n);
      if (found.rows[at] < 0) break;
      const float* neighbour = rows.data_ptr<float>() + found.rows[at] * dimensions;
      const double length = norm_of(neighbour, dimensions);
      check_unit(length, metric, "the gallery's row " + std::to_string(found.rows[at]));
      const double cosine = 1 - static_cast<double>(found.distances[at]) / 2;
      const double weight = std::pow(std::max(0.0, cosine), expansion.alpha) / length;
      for (std::int64_t d = 0; d < dimensions; ++d) {
        sum[static_cast<std::size_t>(d)] += weight * neighbour[d];
      }
    }
    double squares = 0;
    for (const double value : sum) squares += value * value;
    const double length = std::sqrt(squares);
    if (!(length >= smallest_norm)) {
      throw Error("the embedding of '" + name_of_query(q) +
                  "' and those of its neighbours add up to zero, which has no direction");
    }
    float* to = result.data_ptr<float>() + q * dimensions;
    for (std::int64_t d = 0; d < dimensions; ++d) {
      to[d] = static_cast<float>(sum[static_cast<std::size_t>(d)] / length);
    }
  }
  return result;
}

}  // namespace seam::stages
