#include "stages/retrieval/exact_search.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <seam/error.hpp>
#include <utility>

#include "stages/cpu/instruction_set.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace seam::stages {
namespace {

constexpr double float_rounding = 1.0 / (1 << 24);  // unit roundoff of float32
constexpr double smallest_norm = 1e-12;
constexpr double largest_accepted_norm = 1e15;
constexpr std::int64_t largest_dimension = 1 << 16;  // keeps D * float_rounding below 1 %

std::string shape_of(const torch::Tensor& tensor) {
  std::string text = "[";
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    text += (d == 0 ? "" : ",") + std::to_string(tensor.size(d));
  }
  return text + "]";
}

void check_matrix(const torch::Tensor& vectors, const std::string& set) {
  const bool accepted = vectors.defined() && vectors.dim() == 2 && vectors.device().is_cpu() &&
                        vectors.scalar_type() == torch::kFloat32;
  if (!accepted) {
    throw Error("the " + set + " vectors must be float32 [N,D] on the CPU" +
                    (vectors.defined()
                         ? ", not " + std::string(vectors.dtype().name()) + " " + shape_of(vectors)
                         : std::string{}),
                Fault::internal);
  }
  if (vectors.size(1) < 1 || vectors.size(1) > largest_dimension) {
    throw Error("the " + set + " vectors have " + std::to_string(vectors.size(1)) +
                    " dimensions; 1 to " + std::to_string(largest_dimension) + " are accepted",
                Fault::internal);
  }
}

std::string name(const NameOfRow& name_of_row, const std::string& set, std::int64_t row) {
  return name_of_row ? "'" + name_of_row(row) + "'" : set + " row " + std::to_string(row);
}

// Element i of an inner product goes to lane i modulo 16. Each lane is summed by itself, and the
// lanes are added in a fixed tree, so the sum is the same whichever instructions it is compiled to.
constexpr std::int64_t lane_count = 16;

/// Registers of `Width` doubles, by the vector types of GCC and Clang.
template <std::int64_t Width>
struct Registers;

template <>
struct Registers<2> {
  using Floats [[gnu::vector_size(8)]] = float;
  using Doubles [[gnu::vector_size(16)]] = double;
};

template <>
struct Registers<4> {
  using Floats [[gnu::vector_size(16)]] = float;
  using Doubles [[gnu::vector_size(32)]] = double;
};

template <>
struct Registers<8> {
  using Floats [[gnu::vector_size(32)]] = float;
  using Doubles [[gnu::vector_size(64)]] = double;
};

// Results go out by reference: returning such a vector from a function would depend on the target.
template <class Width>
[[gnu::always_inline]] inline void load(const float* from, typename Width::Doubles& to) {
  typename Width::Floats values;
  std::memcpy(&values, from, sizeof(values));
  to = __builtin_convertvector(values, typename Width::Doubles);
}

template <class Width>
[[gnu::always_inline]] inline void load(const double* from, typename Width::Doubles& to) {
  std::memcpy(&to, from, sizeof(to));
}

/// `Width` doubles fill a register of the target, which is what keeps the sums out of memory (GCC
/// splits wider vectors through the stack). A is float or double; the products are exact either
/// way.
template <std::int64_t Width, class A>
[[gnu::always_inline]] inline double sum_of_products(const A* a, const float* b,
                                                     std::int64_t count) {
  using Register = Registers<Width>;
  constexpr std::int64_t kept = lane_count / Width;
  typename Register::Doubles sums[kept] =
      {};  // a plain array, which the compiler keeps in registers
  std::int64_t i = 0;
  for (; i + lane_count <= count; i += lane_count) {
#pragma GCC unroll 8
    for (std::int64_t part = 0; part < kept; ++part) {
      typename Register::Doubles x;
      typename Register::Doubles y;
      load<Register>(a + i + part * Width, x);
      load<Register>(b + i + part * Width, y);
      sums[part] += x * y;
    }
  }
  std::array<double, lane_count> lanes{};
#pragma GCC unroll 8
  for (std::int64_t part = 0; part < kept; ++part) {
    std::memcpy(lanes.data() + part * Width, &sums[part], sizeof(sums[part]));
  }
  for (; i < count; ++i) {
    lanes[i % lane_count] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  for (std::int64_t half = lane_count / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

/// Scores of a stretch of the gallery: offset[j] + scale[j] * products[j].
struct Scores {
  const float* products;
  const float* offset;
  const float* scale;

  [[nodiscard]] float at(std::int64_t j) const { return offset[j] + scale[j] * products[j]; }
};

constexpr std::int64_t scan_width = 32;

/// The first 32 scores in [begin, end), a multiple of 32 long, of which any is at most `threshold`,
/// and which; `end` where there is none.
struct Found {
  std::int64_t at;
  std::uint32_t which;
};

/// The loops that most time goes into beside the matrix product, for the processor at hand.
struct Kernels {
  double (*inner_product)(const float*, const float*, std::int64_t);
  double (*inner_product_double)(const double*, const float*, std::int64_t);
  Found (*find_at_most)(const Scores&, std::int64_t begin, std::int64_t end, float threshold);
};

Found find_at_most_portable(const Scores& scores, std::int64_t begin, std::int64_t end,
                            float threshold) {
  for (std::int64_t at = begin; at < end; at += scan_width) {
    std::uint32_t which = 0;
    for (std::int64_t j = 0; j < scan_width; ++j) {
      which |= static_cast<std::uint32_t>(scores.at(at + j) <= threshold) << j;
    }
    if (which != 0) return {at, which};
  }
  return {end, 0};
}

constexpr Kernels portable{[](const float* a, const float* b, std::int64_t count) {
                             return sum_of_products<2>(a, b, count);
                           },
                           [](const double* a, const float* b, std::int64_t count) {
                             return sum_of_products<2>(a, b, count);
                           },
                           find_at_most_portable};

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] Found find_at_most_avx2(const Scores& scores, std::int64_t begin,
                                                    std::int64_t end, float threshold) {
  const __m256 limit = _mm256_set1_ps(threshold);
  for (std::int64_t at = begin; at < end; at += scan_width) {
    std::uint32_t which = 0;
#pragma GCC unroll 4
    for (std::int64_t part = 0; part < 4; ++part) {
      const std::int64_t j = at + part * 8;
      const __m256 score =
          _mm256_fmadd_ps(_mm256_loadu_ps(scores.scale + j), _mm256_loadu_ps(scores.products + j),
                          _mm256_loadu_ps(scores.offset + j));
      const int mask = _mm256_movemask_ps(_mm256_cmp_ps(score, limit, _CMP_LE_OQ));
      which |= static_cast<std::uint32_t>(mask) << (part * 8);
    }
    if (which != 0) return {at, which};
  }
  return {end, 0};
}

[[gnu::target("avx2,fma")]] double inner_product_avx2(const float* a, const float* b,
                                                      std::int64_t count) {
  return sum_of_products<4>(a, b, count);
}

[[gnu::target("avx2,fma")]] double inner_product_double_avx2(const double* a, const float* b,
                                                             std::int64_t count) {
  return sum_of_products<4>(a, b, count);
}

[[gnu::target("avx512f,avx512vl,avx512dq")]] double inner_product_avx512(const float* a,
                                                                         const float* b,
                                                                         std::int64_t count) {
  return sum_of_products<8>(a, b, count);
}

[[gnu::target("avx512f,avx512vl,avx512dq")]] double inner_product_double_avx512(
    const double* a, const float* b, std::int64_t count) {
  return sum_of_products<8>(a, b, count);
}

Kernels kernels_of_this_processor() {
  switch (best_instruction_set()) {
    case InstructionSet::avx512:
      return {inner_product_avx512, inner_product_double_avx512, find_at_most_avx2};
    case InstructionSet::avx2:
      return {inner_product_avx2, inner_product_double_avx2, find_at_most_avx2};
    case InstructionSet::baseline:
      break;
  }
  return portable;
}
#else
Kernels kernels_of_this_processor() {
  return portable;
}
#endif

const Kernels& kernels() {
  static const Kernels chosen = kernels_of_this_processor();
  return chosen;
}

/// Where a vector may be other than zero. Masked embeddings are zero almost everywhere, and leaving
/// zeros out changes no sum; the beginning is a multiple of 16 so that every element keeps its
/// lane.
Extent extent_of(const float* vector, std::int64_t dimensions) {
  std::int64_t begin = 0;
  std::int64_t end = dimensions;
  while (begin < end && vector[begin] == 0) ++begin;
  while (end > begin && vector[end - 1] == 0) --end;
  return {static_cast<std::int32_t>(begin / lane_count * lane_count),
          static_cast<std::int32_t>(end)};
}

/// Squared lengths of all rows; throws for rows that cannot be compared.
std::vector<double> checked_squared_norms(const torch::Tensor& vectors, const std::string& set,
                                          const NameOfRow& name_of_row) {
  const std::int64_t count = vectors.size(0);
  const std::int64_t dimensions = vectors.size(1);
  const float* data = vectors.data_ptr<float>();
  std::vector<double> squared(static_cast<std::size_t>(count));
  at::parallel_for(0, count, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* vector = data + row * dimensions;
      squared[row] = inner_product(vector, vector, dimensions);
    }
  });
  for (std::int64_t row = 0; row < count; ++row) {
    if (!std::isfinite(squared[row])) {
      throw Error("the embedding of " + name(name_of_row, set, row) +
                  " has elements that are NaN or infinite; it cannot be compared. Training has "
                  "diverged, or the model's weights are damaged");
    }
    const double norm = std::sqrt(squared[row]);
    if (norm < smallest_norm || norm > largest_accepted_norm) {
      throw Error("the embedding of " + name(name_of_row, set, row) +
                  (norm < smallest_norm ? " is zero" : " is too long for float32 distances") +
                  " (length " + std::to_string(norm) +
                  "; 1e-12 to 1e15 are accepted); it cannot be compared");
    }
  }
  return squared;
}

/// A pair that the float32 product could not rule out.
struct Candidate {
  float score;
  std::int32_t row;
};

/// A pair whose distance is known.
struct Scored {
  float distance;
  std::int32_t row;
};

bool nearer(const Scored& a, const Scored& b) {
  return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
}

/// What the search of one query needs of the gallery.
struct GalleryView {
  const float* vectors;
  const double* squared_norms;
  const Extent* extents;
  std::int64_t dimensions;
  double largest_norm;
  Metric metric;
  std::span<const std::int64_t> items;
};

/// The search of one query: takes the scores of gallery tiles in ascending row order.
///
/// `pending_` holds what has not been ruled out, by score; when it is full, a tighter threshold
/// empties most of it. Where too many scores lie within the rounding error of the k-th (ties), the
/// pending ones are settled: scored in double at once and reduced to the k nearest, so that neither
/// memory nor the threshold depends on how many ties there are.
class QuerySearch {
 public:
  QuerySearch(const GalleryView& gallery, const float* query, double squared_norm,
              std::int64_t excluded, std::int64_t item, std::int64_t k, std::span<double> scratch)
      : gallery_(gallery),
        scratch_(scratch),
        query_(query),
        squared_norm_(squared_norm),
        extent_(extent_of(query, gallery.dimensions)),
        norm_(std::sqrt(squared_norm)),
        excluded_(excluded),
        item_(item),
        k_(static_cast<std::size_t>(k)),
        capacity_(static_cast<std::size_t>(std::max<std::int64_t>(128, 3 * k))) {
    // Any order of summation errs by less than D u / (1 - D u) of the product of lengths (Higham,
    // Accuracy and Stability of Numerical Algorithms, eq. 3.5); the score adds a few roundings, and
    // two distances may differ by one more and still round to the same float32.
    const double relative = 1.01 * static_cast<double>(gallery.dimensions + 16) * float_rounding;
    const double reach = norm_ + gallery.largest_norm;
    error_ = gallery.metric == Metric::cosine ? relative * norm_ : relative * reach * reach;
    pending_.reserve(capacity_ + scan_width);
  }

  /// Looks at the scores of gallery rows first ... first + count - 1.
  void scan(const Scores& scores, std::int64_t first, std::int64_t count) {
    const std::int64_t whole = count / scan_width * scan_width;
    for (std::int64_t at = 0; at < whole;) {
      const Found found = kernels_.find_at_most(scores, at, whole, threshold_);
      for (std::uint32_t left = found.which; left != 0; left &= left - 1) {
        take(scores, first, found.at + std::countr_zero(left));
      }
      if (pending_.size() >= capacity_) make_room();
      at = found.at + scan_width;
    }
    for (std::int64_t j = whole; j < count; ++j) {
      if (scores.at(j) <= threshold_) take(scores, first, j);
    }
    if (pending_.size() >= capacity_) make_room();
  }

  /// Writes the result of this query.
  void finish(std::int64_t* rows, float* distances, std::int64_t& tied, std::int64_t& relevant) {
    if (best_.empty()) tighten_by_score();
    settle();
    std::sort(best_.begin(), best_.end(), nearer);
    for (std::size_t i = 0; i < k_; ++i) {
      const bool found = i < best_.size();
      rows[i] = found ? best_[i].row : -1;
      distances[i] = found ? best_[i].distance : std::numeric_limits<float>::infinity();
    }
    tied = tied_;
    relevant = tied_relevant_;
  }

 private:
  void take(const Scores& scores, std::int64_t first, std::int64_t j) {
    if (first + j == excluded_) return;
    pending_.push_back({scores.at(j), static_cast<std::int32_t>(first + j)});
  }

  void make_room() {
    if (best_.empty()) tighten_by_score();
    if (pending_.size() > capacity_ * 3 / 4) settle();
  }

  /// With k scores at most s, the k-th nearest is at most s + error away; a pair that scores more
  /// than s + 2 errors is farther than that.
  void tighten_by_score() {
    if (pending_.size() <= k_) return;
    const auto kth = pending_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(pending_.begin(), kth, pending_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
    set_threshold(static_cast<double>(kth->score) + 2 * error_);
    std::erase_if(pending_, [this](const Candidate& c) { return !(c.score <= threshold_); });
  }

  /// Scores everything pending in double and keeps the k nearest.
  void settle() {
    std::copy(query_, query_ + gallery_.dimensions, scratch_.begin());
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (i + fetched_ahead < pending_.size()) fetch(pending_[i + fetched_ahead].row);
      best_.push_back({measure(pending_[i]), pending_[i].row});
    }
    pending_.clear();
    if (best_.size() < k_) return;
    const auto kth = best_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(best_.begin(), kth, best_.end(), nearer);
    const float cut = kth->distance;
    if (cut < cut_) tied_ = tied_relevant_ = 0;  // what tied with the old cut is now beyond it
    cut_ = cut;
    for (auto dropped = kth + 1; dropped != best_.end(); ++dropped) {
      if (dropped->distance != cut) continue;
      ++tied_;
      if (!gallery_.items.empty() && gallery_.items[dropped->row] == item_) ++tied_relevant_;
    }
    best_.resize(k_);
    const double score = gallery_.metric == Metric::cosine
                             ? -norm_ * (1 - static_cast<double>(cut) / 2)
                             : static_cast<double>(cut) - squared_norm_;
    set_threshold(score + error_);
  }

  static constexpr std::size_t fetched_ahead = 4;

  /// Candidates lie anywhere in the gallery: asks for a vector while others are being compared.
  void fetch(std::int64_t row) const {
    constexpr std::int64_t line = 64 / sizeof(float);
    const float* vector = gallery_.vectors + row * gallery_.dimensions;
    const std::int64_t end = std::min(extent_.end, gallery_.extents[row].end);
    const std::int64_t begin = std::max(extent_.begin, gallery_.extents[row].begin);
    for (std::int64_t d = begin; d < end; d += line) __builtin_prefetch(vector + d);
  }

  double inner_product_with(std::int64_t row) const {
    const Extent other = gallery_.extents[row];
    const std::int64_t begin = std::max(extent_.begin, other.begin);
    const std::int64_t count = std::min(extent_.end, other.end) - begin;
    if (count <= 0) return 0;
    return kernels_.inner_product_double(
        scratch_.data() + begin, gallery_.vectors + row * gallery_.dimensions + begin, count);
  }

  float measure(const Candidate& candidate) const {
    const std::int64_t row = candidate.row;
    const double product = inner_product_with(row);
    const double other = gallery_.squared_norms[row];
    double score = 0;
    double distance = 0;
    if (gallery_.metric == Metric::cosine) {
      const double cosine = product / std::sqrt(squared_norm_ * other);
      score = -norm_ * cosine;
      distance = 2 - 2 * cosine;
    } else {
      score = other - 2 * product;
      distance = squared_norm_ + score;
    }
    if (std::abs(score - static_cast<double>(candidate.score)) > error_) {
      throw Error(
          "the matrix product is less exact than float32 allows, so that nearest neighbours "
          "cannot be proven: LibTorch's float32 matmul precision must be 'highest'",
          Fault::internal);
    }
    return static_cast<float>(std::max(0.0, distance));
  }

  /// Rounded up, so that the comparison in float32 never discards more than that in double.
  void set_threshold(double value) {
    threshold_ = std::min(threshold_, std::nextafter(static_cast<float>(value),
                                                     std::numeric_limits<float>::infinity()));
  }

  const GalleryView& gallery_;
  std::span<double> scratch_;  // the query in double, while it is compared
  const Kernels& kernels_ = kernels();
  const float* query_;
  double squared_norm_;
  Extent extent_;
  double norm_;
  double error_ = 0;
  std::int64_t excluded_;
  std::int64_t item_;
  std::size_t k_;
  std::size_t capacity_;
  float threshold_ = std::numeric_limits<float>::infinity();
  float cut_ = std::numeric_limits<float>::infinity();
  std::int64_t tied_ = 0;
  std::int64_t tied_relevant_ = 0;
  std::vector<Candidate> pending_;
  std::vector<Scored> best_;
};

void check_length(std::size_t length, std::int64_t wanted, const char* what) {
  if (length != 0 && length != static_cast<std::size_t>(wanted)) {
    throw Error(std::string(what) + " has " + std::to_string(length) + " entries for " +
                    std::to_string(wanted) + " vectors",
                Fault::internal);
  }
}

}  // namespace

std::string to_string(Metric metric) {
  return metric == Metric::cosine ? "cosine" : "squared_euclidean";
}

double inner_product(const float* a, const float* b, std::int64_t count) {
  return kernels().inner_product(a, b, count);
}

void check_vectors(const torch::Tensor& vectors, const std::string& set,
                   const NameOfRow& name_of_row) {
  check_matrix(vectors, set);
  checked_squared_norms(vectors.contiguous(), set, name_of_row);
}

ExactIndex::ExactIndex(torch::Tensor vectors, Metric metric, const NameOfRow& name_of_row)
    : vectors_(std::move(vectors)), metric_(metric) {
  check_matrix(vectors_, "gallery");
  if (vectors_.size(0) > std::numeric_limits<std::int32_t>::max()) {
    throw Error("a gallery of more than 2^31 vectors cannot be searched in one piece");
  }
  vectors_ = vectors_.detach().contiguous();
  squared_norms_ = checked_squared_norms(vectors_, "gallery", name_of_row);
  extents_.resize(squared_norms_.size());
  const float* data = vectors_.data_ptr<float>();
  at::parallel_for(0, size(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      extents_[row] = extent_of(data + row * dimensions(), dimensions());
    }
  });
  for (const double squared : squared_norms_) {
    const double norm = std::sqrt(squared);
    largest_norm_ = std::max(largest_norm_, norm);
    score_offset_.push_back(metric == Metric::cosine ? 0.0F : static_cast<float>(squared));
    score_scale_.push_back(metric == Metric::cosine ? static_cast<float>(-1 / norm) : -2.0F);
  }
}

Neighbours ExactIndex::search(const torch::Tensor& queries, const SearchOptions& options,
                              const NameOfRow& name_of_row) const {
  check_matrix(queries, "query");
  if (queries.size(1) != dimensions()) {
    throw Error("the query vectors have " + std::to_string(queries.size(1)) +
                    " dimensions, the gallery's " + std::to_string(dimensions()),
                Fault::internal);
  }
  if (options.k < 1 || options.query_tile < 1 || options.gallery_tile < 1) {
    throw Error("k and the tile sizes of a search must be at least 1", Fault::internal);
  }
  const std::int64_t count = queries.size(0);
  check_length(options.excluded_row.size(), count, "the list of excluded rows");
  check_length(options.query_item.size(), count, "the list of query items");
  check_length(options.gallery_item.size(), size(), "the list of gallery items");

  const torch::Tensor vectors = queries.detach().contiguous();
  const std::vector<double> squared_norms = checked_squared_norms(vectors, "query", name_of_row);
  const bool with_items = !options.query_item.empty() && !options.gallery_item.empty();
  const GalleryView view{vectors_.data_ptr<float>(),
                         squared_norms_.data(),
                         extents_.data(),
                         dimensions(),
                         largest_norm_,
                         metric_,
                         with_items ? options.gallery_item : std::span<const std::int64_t>{}};

  Neighbours result;
  result.queries = count;
  result.k = options.k;
  result.rows.resize(static_cast<std::size_t>(count * options.k));
  result.distances.resize(static_cast<std::size_t>(count * options.k));
  result.tied_beyond.resize(static_cast<std::size_t>(count));
  result.tied_beyond_relevant.resize(static_cast<std::size_t>(count));

  // Small sets are shared out among the threads; large ones keep the tile that was asked for.
  const std::int64_t threads = std::max(1, at::get_num_threads());
  const std::int64_t tile =
      std::clamp<std::int64_t>((count + threads - 1) / threads, 1, options.query_tile);
  const std::int64_t blocks = (count + tile - 1) / tile;
  at::parallel_for(0, blocks, 1, [&](std::int64_t first_block, std::int64_t last_block) {
    const torch::NoGradGuard no_grad;  // thread-local, so set where the work is
    std::vector<double> scratch(static_cast<std::size_t>(dimensions()));
    const torch::Tensor buffer = torch::empty({tile * options.gallery_tile}, torch::kFloat32);
    for (std::int64_t block = first_block; block < last_block; ++block) {
      const std::int64_t begin = block * tile;
      const std::int64_t block_size = std::min(tile, count - begin);
      const torch::Tensor block_vectors = vectors.narrow(0, begin, block_size);
      std::vector<QuerySearch> searches;
      searches.reserve(static_cast<std::size_t>(block_size));
      for (std::int64_t q = begin; q < begin + block_size; ++q) {
        searches.emplace_back(view, vectors.data_ptr<float>() + q * dimensions(), squared_norms[q],
                              options.excluded_row.empty() ? -1 : options.excluded_row[q],
                              with_items ? options.query_item[q] : -1, options.k, scratch);
      }
      for (std::int64_t first = 0; first < size(); first += options.gallery_tile) {
        const std::int64_t columns = std::min(options.gallery_tile, size() - first);
        torch::Tensor products =
            buffer.narrow(0, 0, block_size * columns).view({block_size, columns});
        torch::mm_out(products, block_vectors, vectors_.narrow(0, first, columns).t());
        const float* row = products.data_ptr<float>();
        for (QuerySearch& search : searches) {
          search.scan({row, score_offset_.data() + first, score_scale_.data() + first}, first,
                      columns);
          row += columns;
        }
      }
      for (std::int64_t q = begin; q < begin + block_size; ++q) {
        searches[q - begin].finish(result.rows.data() + q * options.k,
                                   result.distances.data() + q * options.k, result.tied_beyond[q],
                                   result.tied_beyond_relevant[q]);
      }
    }
  });
  return result;
}

}  // namespace seam::stages
