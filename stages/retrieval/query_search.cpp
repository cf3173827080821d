#include "stages/retrieval/query_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <seam/error.hpp>

namespace seam::stages {
namespace {

using retrieval::Metric;

constexpr double float_rounding = 1.0 / (1 << 24);  // unit roundoff of float32
constexpr std::int64_t least_capacity = 128;
/// For 60,502 random vectors of 6,144 elements, bfloat16 leaves four times k for k = 1000; at three
/// quarters of this capacity they would be settled.
constexpr std::int64_t capacity_of_k = 8;
constexpr std::size_t settled_together = 64;
constexpr std::size_t fetched_ahead = 4;

/// The number of neighbours that a search of a gallery of `size` can find, at most k.
std::int64_t findable(std::int64_t k, std::int64_t size) {
  return std::clamp<std::int64_t>(size, 1, k);
}

std::int64_t capacity_for(std::int64_t findable) {
  return std::max(least_capacity, capacity_of_k * findable);
}

/// The maximum number of pending pairs.
std::int64_t most_pending(std::int64_t findable, std::int64_t size) {
  return std::min(capacity_for(findable), size) + scan_width;
}

/// A pair to be scored in double; its position implies the gallery row.
struct Awaited {
  std::uint32_t search;
  float score;
};

}  // namespace

Extent extent_of(const float* vector, std::int64_t dimensions) {
  std::int64_t begin = 0;
  std::int64_t end = dimensions;
  while (begin < end && vector[begin] == 0) ++begin;
  while (end > begin && vector[end - 1] == 0) --end;
  return {static_cast<std::int32_t>(begin / lane_count * lane_count),
          static_cast<std::int32_t>(end)};
}

std::int64_t QuerySearch::bytes(std::int64_t k, std::int64_t gallery_size) {
  const std::int64_t found = findable(k, gallery_size);
  const std::int64_t pending = most_pending(found, gallery_size);
  // Pairs are held twice: as Candidate and Awaited, then as Awaited and Scored.
  return static_cast<std::int64_t>(sizeof(QuerySearch)) +
         pending * static_cast<std::int64_t>(sizeof(Awaited) + sizeof(Scored)) +
         found * static_cast<std::int64_t>(sizeof(Scored));
}

QuerySearch::QuerySearch(const GalleryView& gallery, const QueryView& query)
    : gallery_(gallery),
      query_(query),
      extent_(extent_of(query.vector, gallery.dimensions)),
      norm_(std::sqrt(query.squared_norm)),
      k_(static_cast<std::size_t>(findable(query.k, gallery.size))),
      capacity_(static_cast<std::size_t>(capacity_for(static_cast<std::int64_t>(k_)))) {
  // For any order of summation the error is below D u / (1 - D u) of the product of lengths
  // (Higham, Accuracy and Stability of Numerical Algorithms, eq. 3.5). The score adds rounding
  // errors of at most the square of both lengths' sum, and two distances may differ by two more and
  // still round to the same float32: 16 covers these five. Products below the smallest normal
  // float32 lose all their digits, each at most that much. Rounding to bfloat16 lengthens the
  // multiplied vectors by less than 1 %.
  const double terms = static_cast<double>(gallery.dimensions + 16);
  const double relative = 1.04 * terms * float_rounding;
  const double reach = norm_ + gallery.largest_norm;
  const double underflow = 4 * terms * static_cast<double>(std::numeric_limits<float>::min());
  // Vectors q and g were multiplied as q' and g': qg - q'g' = (q - q')g + q'(g - g').
  const double largest_move = 1.01 * gallery.largest_move;
  const double query_move = 1.01 * query.move;
  const double own_length = norm_ + query_move;
  error_ = gallery.metric == Metric::cosine
               ? relative * norm_ + query_move + own_length * largest_move
               : relative * 2 * norm_ * gallery.largest_norm + 16 * float_rounding * reach * reach +
                     underflow +
                     2 * (query_move * gallery.largest_norm + own_length * largest_move);
  pending_.reserve(
      static_cast<std::size_t>(most_pending(static_cast<std::int64_t>(k_), gallery.size)));
}

void QuerySearch::scan(const Scores& scores, std::int64_t first, std::int64_t count) {
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

/// Rows are scored in ascending order, each for all queries that need it, so that it is read once
/// and the processor can prefetch. A query's vector stays in the cache meanwhile.
void QuerySearch::measure_together(std::span<QuerySearch> searches) {
  if (searches.empty()) return;
  const auto size = static_cast<std::size_t>(searches.front().gallery_.size);
  std::vector<std::uint32_t> end_of_row(size + 1);
  for (QuerySearch& search : searches) {
    if (search.best_.empty()) search.tighten_by_score();
    search.discard_pending(0);
    for (const Candidate& candidate : search.pending_) ++end_of_row[candidate.row + 1];
  }
  std::partial_sum(end_of_row.begin(), end_of_row.end(), end_of_row.begin());
  std::vector<Awaited> awaited(end_of_row.back());
  for (std::size_t at = 0; at < searches.size(); ++at) {
    QuerySearch& search = searches[at];
    for (const Candidate& candidate : search.pending_) {
      awaited[end_of_row[candidate.row]++] = {static_cast<std::uint32_t>(at), candidate.score};
    }
    search.best_.reserve(search.best_.size() + search.pending_.size());
    std::vector<Candidate>().swap(search.pending_);
  }
  std::size_t next = 0;
  for (std::size_t row = 0; row < size; ++row) {
    for (; next < end_of_row[row]; ++next) {
      QuerySearch& search = searches[awaited[next].search];
      const Candidate candidate{awaited[next].score, static_cast<std::int32_t>(row)};
      search.best_.push_back({search.measure(candidate), candidate.row});
    }
  }
}

void QuerySearch::finish(std::span<std::int64_t> rows, std::span<float> distances,
                         std::int64_t& tied, std::int64_t& relevant) {
  keep_nearest();
  std::sort(best_.begin(), best_.end(), nearer);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool found = i < best_.size();
    rows[i] = found ? best_[i].row : -1;
    distances[i] = found ? best_[i].distance : std::numeric_limits<float>::infinity();
  }
  tied = tied_;
  relevant = tied_relevant_;
}

void QuerySearch::take(const Scores& scores, std::int64_t first, std::int64_t j) {
  if (first + j == query_.excluded) return;
  const Candidate candidate{scores.at(j), static_cast<std::int32_t>(first + j)};
  if (query_.farther_than >= 0 && !is_far_enough(candidate)) return;
  pending_.push_back(candidate);
}

/// Decides at once, so that pending pairs count for the threshold: in double if the score is not
/// conclusive.
bool QuerySearch::is_far_enough(const Candidate& candidate) {
  const auto score = static_cast<double>(candidate.score);
  const double error = error_at(score);
  if (score + error < score_at(query_.farther_than)) return false;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (score - error > score_at(std::nextafter(query_.farther_than, infinity))) return true;
  ++settled_;
  return measure(candidate) > query_.farther_than;
}

void QuerySearch::make_room() {
  if (best_.empty()) tighten_by_score();
  if (pending_.size() > capacity_ * 3 / 4) settle();
}

/// With k scores at most s, the k-th nearest is at most s + error away; a pair whose score exceeds
/// this by more than the error is farther than that.
void QuerySearch::tighten_by_score() {
  if (pending_.size() <= k_) return;
  const auto kth = pending_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
  std::nth_element(pending_.begin(), kth, pending_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
  const auto score = static_cast<double>(kth->score);
  set_threshold(highest_score_of(score + error_at(score)));
  discard_pending(0);
}

void QuerySearch::discard_pending(std::size_t from) {
  const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(from);
  pending_.erase(std::remove_if(first, pending_.end(),
                                [this](const Candidate& c) { return !(c.score <= threshold_); }),
                 pending_.end());
}

/// Scores all pending pairs in double and keeps the k nearest. After tighten_by_score the first k
/// have the smallest scores; their distances rule out others.
void QuerySearch::settle() {
  for (std::size_t done = 0; done < pending_.size();) {
    const std::size_t end = std::min(done + std::max(k_, settled_together), pending_.size());
    measure_pending(done, end);
    keep_nearest();
    discard_pending(end);
    done = end;
  }
  pending_.clear();
}

void QuerySearch::measure_pending(std::size_t begin, std::size_t end) {
  settled_ += static_cast<std::int64_t>(end - begin);
  best_.reserve(best_.size() + (end - begin));
  for (std::size_t i = begin; i < end; ++i) {
    if (i + fetched_ahead < end) fetch(pending_[i + fetched_ahead].row);
    best_.push_back({measure(pending_[i]), pending_[i].row});
  }
}

void QuerySearch::keep_nearest() {
  if (best_.size() < k_) return;
  const auto kth = best_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
  std::nth_element(best_.begin(), kth, best_.end(), nearer);
  const float cut = kth->distance;
  if (cut < cut_) tied_ = tied_relevant_ = 0;  // ties with the old cut are now beyond it
  cut_ = cut;
  for (auto dropped = kth + 1; dropped != best_.end(); ++dropped) {
    if (dropped->distance != cut) continue;
    ++tied_;
    if (!gallery_.items.empty() && gallery_.items[dropped->row] == query_.item) ++tied_relevant_;
  }
  best_.resize(k_);
  set_threshold(highest_score_of(score_at(cut)));
}

/// Candidates are anywhere in the gallery: prefetches a vector while others are being compared.
void QuerySearch::fetch(std::int64_t row) const {
  constexpr std::int64_t line = 64 / sizeof(float);
  const float* vector = gallery_.vectors + row * gallery_.dimensions;
  const std::int64_t end = std::min(extent_.end, gallery_.extents[row].end);
  const std::int64_t begin = std::max(extent_.begin, gallery_.extents[row].begin);
  for (std::int64_t d = begin; d < end; d += line) __builtin_prefetch(vector + d);
}

double QuerySearch::inner_product_with(std::int64_t row) const {
  const Extent other = gallery_.extents[row];
  const std::int64_t begin = std::max(extent_.begin, other.begin);
  const std::int64_t count = std::min(extent_.end, other.end) - begin;
  if (count <= 0) return 0;
  return kernels_.inner_product(query_.vector + begin,
                                gallery_.vectors + row * gallery_.dimensions + begin, count);
}

float QuerySearch::measure(const Candidate& candidate) const {
  const std::int64_t row = candidate.row;
  const double product = inner_product_with(row);
  const double other = gallery_.squared_norms[row];
  double score = 0;
  double distance = 0;
  if (gallery_.metric == Metric::cosine) {
    const double cosine = product / std::sqrt(query_.squared_norm * other);
    score = -norm_ * cosine;
    distance = 2 - 2 * cosine;
  } else {
    score = other - 2 * product;
    distance = query_.squared_norm + score;
  }
  if (std::abs(score - static_cast<double>(candidate.score)) > error_at(candidate.score)) {
    throw Error(
        "the matrix product is less precise than float32, so nearest neighbours cannot be proven: "
        "LibTorch's float32 matmul precision must be 'highest'",
        Fault::internal);
  }
  return static_cast<float>(std::max(0.0, distance));
}

/// The maximum error of this score and all lower scores. The error of a rounded product is a
/// fraction of the product, and scale * product is score - offset.
double QuerySearch::error_at(double score) const {
  return error_ + gallery_.product_rounding *
                      std::max(std::abs(static_cast<double>(gallery_.least_offset) - score),
                               std::abs(static_cast<double>(gallery_.largest_offset) - score));
}

/// The maximum computed score of a pair whose exact score is at most `exact`: the error may be
/// larger at that score, by the rounding's fraction of the difference.
double QuerySearch::highest_score_of(double exact) const {
  return exact + error_at(exact) / (1 - gallery_.product_rounding);
}

/// The exact score of a pair at this distance.
double QuerySearch::score_at(float distance) const {
  return gallery_.metric == Metric::cosine ? -norm_ * (1 - static_cast<double>(distance) / 2)
                                           : static_cast<double>(distance) - query_.squared_norm;
}

/// Rounded up, so that the comparison in float32 never discards more than one in double.
void QuerySearch::set_threshold(double value) {
  threshold_ = std::min(threshold_, std::nextafter(static_cast<float>(value),
                                                   std::numeric_limits<float>::infinity()));
}

}  // namespace seam::stages
