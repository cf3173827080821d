#include "stages/retrieval/k_reciprocal.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <seam/error.hpp>
#include <unordered_map>
#include <utility>

#include "stages/counted.hpp"
#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages {
namespace {

using retrieval::Mask;
using retrieval::Metric;
using retrieval::Neighbours;

constexpr std::int64_t rows_at_a_time = 1024;

/// Vectors such that the nearest to (q, 0) is the farthest from q: (-g, c) with c² = C - 2 |g|², so
/// that |q + g|² + c² = 2 |q|² + C - |q - g|².
torch::Tensor mirrored(const torch::Tensor& vectors, const std::vector<double>& squared_norms) {
  const double largest = *std::max_element(squared_norms.begin(), squared_norms.end());
  torch::Tensor result = torch::empty({vectors.size(0), vectors.size(1) + 1}, torch::kFloat32);
  result.narrow(1, 0, vectors.size(1)).copy_(vectors.neg());
  auto last = result.accessor<float, 2>();
  for (std::int64_t row = 0; row < vectors.size(0); ++row) {
    const double rest = largest - squared_norms[static_cast<std::size_t>(row)];
    last[row][vectors.size(1)] = static_cast<float>(std::sqrt(2 * rest));
  }
  return result;
}

}  // namespace

std::string KReciprocal::text() const {
  return "k-reciprocal(" + std::to_string(k1) + "," + std::to_string(k2) + "," + text_of(lambda) +
         ")";
}

ReciprocalGallery::ReciprocalGallery(const VectorGallery& gallery, Mask mask,
                                     const KReciprocal& options, const std::function<void()>& go_on)
    : gallery_(&gallery),
      mask_(mask),
      metric_(gallery.metric(mask)),
      options_(options),
      dimensions_(gallery.vectors(mask).size(1)),
      each_(options.k1 + 1) {
  const torch::NoGradGuard no_gradient;
  const torch::Tensor& vectors = gallery.vectors(mask);
  const std::int64_t count = vectors.size(0);
  squared_norms_.reserve(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < count; ++row) {
    squared_norms_.push_back(inner_product(vector(row), vector(row), dimensions_));
  }
  if (metric_ == Metric::squared_euclidean) {
    mirrored_.emplace(mirrored(vectors, squared_norms_), Metric::squared_euclidean);
  }
  const NameOfRow name = [&gallery](std::int64_t row) {
    return gallery.rows()[static_cast<std::size_t>(row)].origin.text();
  };
  nearest_.reserve(static_cast<std::size_t>(count * each_));
  farthest_.reserve(static_cast<std::size_t>(count));
  for (std::int64_t first = 0; first < count; first += rows_at_a_time) {
    go_on();
    const torch::Tensor some =
        vectors.narrow(0, first, std::min(rows_at_a_time, count - first)).contiguous();
    std::vector<std::int64_t> themselves;
    for (std::int64_t row = 0; row < some.size(0); ++row) themselves.push_back(first + row);
    retrieval::SearchRequest request;
    request.mask = mask;
    request.k = each_;
    request.excluded_row = themselves;
    request.name_of_query = [&name, first](std::int64_t row) { return name(first + row); };
    const Neighbours found = gallery.search(some, request);
    for (std::size_t at = 0; at < found.rows.size(); ++at) {
      nearest_.push_back({static_cast<std::int32_t>(found.rows[at]), found.distances[at]});
    }
    const std::vector<float> farthest = farthest_from(some, request.name_of_query);
    farthest_.insert(farthest_.end(), farthest.begin(), farthest.end());
  }
}

std::vector<float> ReciprocalGallery::farthest_from(const torch::Tensor& queries,
                                                    const NameOfRow& name_of_query) const {
  const torch::NoGradGuard no_gradient;
  Neighbours found;
  if (mirrored_) {
    SearchOptions options;
    options.k = 1;
    const torch::Tensor zeros = torch::zeros({queries.size(0), 1}, torch::kFloat32);
    found = mirrored_->search(torch::cat({queries, zeros}, 1), options, name_of_query);
  } else {
    retrieval::SearchRequest request;
    request.mask = mask_;
    request.k = 1;
    request.name_of_query = name_of_query;
    found = gallery_->search(queries.neg(), request);
  }
  const torch::Tensor plain = queries.contiguous();
  std::vector<float> distances;
  distances.reserve(found.rows.size());
  for (std::int64_t q = 0; q < plain.size(0); ++q) {
    const float* query = plain.data_ptr<float>() + q * dimensions_;
    distances.push_back(distance(query, inner_product(query, query, dimensions_),
                                 found.rows[static_cast<std::size_t>(q)]));
  }
  return distances;
}

std::span<const ReciprocalGallery::Near> ReciprocalGallery::nearest(std::int64_t row) const {
  const std::span<const Near> all(nearest_);
  const std::span<const Near> of_row =
      all.subspan(static_cast<std::size_t>(row * each_), static_cast<std::size_t>(each_));
  const auto end =
      std::find_if(of_row.begin(), of_row.end(), [](const Near& near) { return near.row < 0; });
  return of_row.first(static_cast<std::size_t>(end - of_row.begin()));
}

const float* ReciprocalGallery::vector(std::int64_t row) const {
  return gallery_->vectors(mask_).data_ptr<float>() + row * dimensions_;
}

float ReciprocalGallery::distance(const float* a, double squared_a, std::int64_t row) const {
  const double product = inner_product(a, vector(row), dimensions_);
  const double squared = squared_norms_[static_cast<std::size_t>(row)];
  const double distance = metric_ == Metric::cosine
                              ? 2 - 2 * (product / std::sqrt(squared_a * squared))
                              : squared_a + squared - 2 * product;
  return static_cast<float>(std::max(0.0, distance));
}

/// The sets of one query and of the gallery rows around it, each computed once. The query has the
/// number `query_number`, after all rows; the row of the query itself is left out.
class ReciprocalSets {
 public:
  ReciprocalSets(const ReciprocalGallery& gallery, const RerankedQuery& query)
      : gallery_(gallery),
        query_(query),
        squared_query_(inner_product(query.vector, query.vector, gallery.dimensions_)),
        query_number_(static_cast<std::int32_t>(gallery.size())) {}

  [[nodiscard]] double jaccard(std::int32_t row) {
    const Encoding& own = spread(query_number_);
    const Encoding& other = spread(row);
    double shared = 0;
    auto at = other.begin();
    for (const auto& [element, weight] : own) {
      while (at != other.end() && at->first < element) ++at;
      if (at == other.end()) break;
      if (at->first == element) shared += std::min(weight, at->second);
    }
    return 1 - shared / (2 - shared);  // the weights of each sum to 1
  }

  void check_distances(const std::string& name) {
    for (std::size_t n = 0; n < query_.rows.size() && query_.rows[n] >= 0; ++n) {
      const float here = distance_to_query(static_cast<std::int32_t>(query_.rows[n]));
      if (std::abs(here - query_.distances[n]) <= 1e-4F * std::max(here, 1e-2F)) continue;
      throw Error(
          "a neighbour of query " + name + " is at distance " + text_of(query_.distances[n]) +
              ", but at " + text_of(here) +
              " in the gallery of the re-ranking; retrieval.rerank and the retrieval.search before "
              "it must have the same `index`, and the embedding must be that of the search",
          Fault::configuration);
    }
  }

 private:
  using Encoding = std::map<std::int32_t, double>;  // by element; weights above 0
  using List = std::vector<std::int32_t>;

  [[nodiscard]] float distance_to_query(std::int32_t row) {
    const auto [known, fresh] = distance_to_query_.try_emplace(row, 0.F);
    if (fresh) known->second = gallery_.distance(query_.vector, squared_query_, row);
    return known->second;
  }

  [[nodiscard]] float distance(std::int32_t a, std::int32_t b) {
    if (a == b) return 0;
    if (a == query_number_) return distance_to_query(b);
    if (b == query_number_) return distance_to_query(a);
    return gallery_.distance(gallery_.vector(a),
                             gallery_.squared_norms_[static_cast<std::size_t>(a)], b);
  }

  /// An element and its k1 nearest among the rows and the query.
  [[nodiscard]] const List& nearest(std::int32_t element) {
    const auto [known, fresh] = nearest_.try_emplace(element);
    if (!fresh) return known->second;
    List& list = known->second;
    const auto length = static_cast<std::size_t>(gallery_.options_.k1) + 1;
    list.push_back(element);
    if (element == query_number_) {
      for (const std::int64_t row : query_.rows) {
        if (row < 0 || list.size() == length) break;
        list.push_back(static_cast<std::int32_t>(row));
      }
      return list;
    }
    const float to_query = distance_to_query(element);
    bool placed = false;
    for (const auto& near : gallery_.nearest(element)) {
      if (near.row == query_.excluded) continue;
      if (!placed && to_query <= near.distance) {
        list.push_back(query_number_);
        placed = true;
      }
      list.push_back(near.row);
    }
    if (!placed) list.push_back(query_number_);
    if (list.size() > length) list.resize(length);
    return list;
  }

  [[nodiscard]] std::span<const std::int32_t> nearest(std::int32_t element, std::int64_t k) {
    const List& list = nearest(element);
    return std::span(list).first(std::min(list.size(), static_cast<std::size_t>(k) + 1));
  }

  [[nodiscard]] List reciprocal(std::int32_t element, std::int64_t k) {
    List found;
    for (const std::int32_t other : nearest(element, k)) {
      const std::span<const std::int32_t> back = nearest(other, k);
      if (std::find(back.begin(), back.end(), element) != back.end()) found.push_back(other);
    }
    return found;
  }

  /// R*(element, k1), ascending.
  [[nodiscard]] List robust(std::int32_t element) {
    const std::int64_t half = std::lrint(static_cast<double>(gallery_.options_.k1) / 2);
    const List own = reciprocal(element, gallery_.options_.k1);
    List all = own;
    for (const std::int32_t candidate : own) {
      const List theirs = reciprocal(candidate, half);
      const auto shared = std::count_if(theirs.begin(), theirs.end(), [&own](std::int32_t other) {
        return std::find(own.begin(), own.end(), other) != own.end();
      });
      if (3 * shared > 2 * static_cast<std::ptrdiff_t>(theirs.size())) {
        all.insert(all.end(), theirs.begin(), theirs.end());
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// V of an element.
  [[nodiscard]] const Encoding& encoding(std::int32_t element) {
    const auto [known, fresh] = encodings_.try_emplace(element);
    if (!fresh) return known->second;
    Encoding& weights = known->second;
    double farthest = query_.farthest;
    if (element != query_number_) {
      farthest = std::max(gallery_.farthest_[static_cast<std::size_t>(element)],
                          distance_to_query(element));
    }
    double sum = 0;
    for (const std::int32_t other : robust(element)) {
      const double share = farthest > 0 ? distance(element, other) / farthest : 0;
      sum += weights[other] = std::exp(-share);
    }
    for (auto& [other, weight] : weights) weight /= sum;
    return weights;
  }

  /// V' of an element: the mean of V over it and its k2 - 1 nearest.
  [[nodiscard]] const Encoding& spread(std::int32_t element) {
    if (gallery_.options_.k2 == 1) return encoding(element);
    const auto [known, fresh] = spread_.try_emplace(element);
    if (!fresh) return known->second;
    Encoding& mean = known->second;
    const std::span<const std::int32_t> over = nearest(element, gallery_.options_.k2 - 1);
    for (const std::int32_t other : over) {
      for (const auto& [at, weight] : encoding(other)) mean[at] += weight;
    }
    for (auto& [at, weight] : mean) weight /= static_cast<double>(over.size());
    return mean;
  }

  const ReciprocalGallery& gallery_;
  const RerankedQuery& query_;
  double squared_query_;
  std::int32_t query_number_;
  std::unordered_map<std::int32_t, float> distance_to_query_;
  std::unordered_map<std::int32_t, List> nearest_;
  std::unordered_map<std::int32_t, Encoding> encodings_;
  std::unordered_map<std::int32_t, Encoding> spread_;
};

void ReciprocalGallery::check(const RerankedQuery& query, const std::string& name) const {
  ReciprocalSets(*this, query).check_distances(name);
}

std::vector<double> ReciprocalGallery::distances(const RerankedQuery& query) const {
  ReciprocalSets sets(*this, query);
  std::vector<double> distances;
  for (std::size_t n = 0; n < query.rows.size() && query.rows[n] >= 0; ++n) {
    const double share = query.farthest > 0 ? query.distances[n] / query.farthest : 0;
    distances.push_back((1 - options_.lambda) *
                            sets.jaccard(static_cast<std::int32_t>(query.rows[n])) +
                        options_.lambda * share);
  }
  return distances;
}

}  // namespace seam::stages
