#include "stages/retrieval/exact_search.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <seam/error.hpp>
#include <seam/shape_text.hpp>

#include "stages/counted.hpp"
#include "stages/cpu/grain.hpp"
#include "stages/diverged.hpp"
#include "stages/retrieval/rounded_vectors.hpp"
#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages {
namespace {

constexpr double smallest_norm = 1e-12;
constexpr double largest_norm_accepted = 1e15;
constexpr std::int64_t largest_dimension = 1 << 16;  // keeps D * 2^-24 below 1 %
/// Multiplications per tile; below this, oneDNN's overhead is as large as its gain.
constexpr std::int64_t least_work_worth_rounding = 1 << 23;
constexpr std::int64_t memory_of_tile = std::int64_t{64} << 20;  // bytes, for each thread

void check_matrix(const torch::Tensor& vectors, const std::string& set) {
  const bool accepted = vectors.defined() && vectors.dim() == 2 && vectors.device().is_cpu() &&
                        vectors.scalar_type() == torch::kFloat32;
  if (!accepted) {
    throw Error("the " + set + " vectors must be float32 [N,D] on the CPU" +
                    (vectors.defined() ? ", not " + std::string(vectors.dtype().name()) + " " +
                                             shape_text(vectors.sizes())
                                       : std::string{}),
                Fault::internal);
  }
  if (vectors.size(1) < 1 || vectors.size(1) > largest_dimension) {
    throw Error("the " + set + " vectors have " + std::to_string(vectors.size(1)) +
                " dimensions; 1 to " + std::to_string(largest_dimension) + " are accepted");
  }
}

std::string name(const NameOfRow& name_of_row, const std::string& set, std::int64_t row) {
  return name_of_row ? "'" + name_of_row(row) + "'" : set + " row " + std::to_string(row);
}

/// Describes what is wrong with a vector of this length under the metric, or returns an empty text.
std::string problem_with_norm(double norm, Metric metric) {
  const bool too_short = metric == Metric::cosine && norm < smallest_norm;
  if (!too_short && norm <= largest_norm_accepted) return {};
  char length[32];
  std::snprintf(length, sizeof(length), "%.3g", norm);
  return (norm == 0   ? " is zero"
          : too_short ? " is almost zero"
                      : " is too long for float32 distances") +
         std::string(" (length ") + length + "); " + to_string(metric) + " accepts lengths " +
         (metric == Metric::cosine ? "from 1e-12" : "from 0") + " to 1e15" +
         (too_short ? ". A vector without direction has no angle; squared_euclidean accepts it"
                    : "");
}

/// Squared lengths of all rows; throws for rows that cannot be compared.
std::vector<double> checked_squared_norms(const torch::Tensor& vectors, Metric metric,
                                          const std::string& set, const NameOfRow& name_of_row) {
  const std::int64_t count = vectors.size(0);
  const std::int64_t dimensions = vectors.size(1);
  const float* data = vectors.data_ptr<float>();
  std::vector<double> squared(static_cast<std::size_t>(count));
  at::parallel_for(0, count, grain(256), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* vector = data + row * dimensions;
      squared[row] = inner_product(vector, vector, dimensions);
    }
  });
  for (std::int64_t row = 0; row < count; ++row) {
    if (!std::isfinite(squared[row])) {
      throw Error("the embedding of " + name(name_of_row, set, row) +
                  " has elements that are NaN or infinite; it cannot be compared. Either "
                  "the model's weights are damaged, or " +
                  diverged_remedy);
    }
    const std::string problem = problem_with_norm(std::sqrt(squared[row]), metric);
    if (!problem.empty()) {
      throw Error("the embedding of " + name(name_of_row, set, row) + problem);
    }
  }
  return squared;
}

void check_length(std::size_t length, std::int64_t wanted, const char* what) {
  if (length != 0 && length != static_cast<std::size_t>(wanted)) {
    throw Error(std::string(what) + " has " + std::to_string(length) + " entries for " +
                    std::to_string(wanted) + " vectors",
                Fault::internal);
  }
}

/// Vectors in float32, and also rounded to bfloat16 if products use that.
struct Factor {
  torch::Tensor exact;
  torch::Tensor rounded;

  [[nodiscard]] Factor rows(std::int64_t begin, std::int64_t count) const {
    return {exact.narrow(0, begin, count),
            rounded.defined() ? rounded.narrow(0, begin, count) : torch::Tensor{}};
  }
};

/// The memory for the products of a tile.
class ProductTile {
 public:
  ProductTile(std::int64_t pairs, std::int64_t rounded_pairs)
      : products_(torch::empty({pairs}, torch::kFloat32)),
        rounded_(torch::empty({rounded_pairs}, torch::kBFloat16)) {}

  /// [Q,G] inner products, row by row; the next call overwrites them.
  const float* multiply(const Factor& queries, const Factor& gallery) {
    const std::int64_t rows = queries.exact.size(0);
    const std::int64_t columns = gallery.exact.size(0);
    const std::int64_t pairs = rows * columns;
    torch::Tensor products = products_.narrow(0, 0, pairs).view({rows, columns});
    if (queries.rounded.defined() && pairs * queries.exact.size(1) >= least_bfloat16_work) {
      torch::Tensor rounded = rounded_.narrow(0, 0, pairs).view({rows, columns});
      torch::mm_out(rounded, queries.rounded, gallery.rounded.t());
      products.copy_(rounded);
    } else {
      torch::mm_out(products, queries.exact, gallery.exact.t());
    }
    return products.data_ptr<float>();
  }

 private:
  torch::Tensor products_;
  torch::Tensor rounded_;
};

/// Whether products in bfloat16 have left few enough pairs for scoring in double, after `scanned`
/// gallery vectors and before the buffer of pending pairs was full. Scoring a pair costs as much as
/// about thirty products in float32.
bool pays(const std::vector<QuerySearch>& searches, std::int64_t k, std::int64_t scanned) {
  std::int64_t settled = 0;
  for (const QuerySearch& search : searches) settled += search.settled();
  const std::int64_t accepted = 3 * std::min(k, scanned) + scanned / 32;
  return settled <= accepted * static_cast<std::int64_t>(searches.size());
}

}  // namespace

ExactIndex::ExactIndex(torch::Tensor vectors, Metric metric, const NameOfRow& name_of_row)
    : vectors_(std::move(vectors)), metric_(metric) {
  check_matrix(vectors_, "gallery");
  if (vectors_.size(0) > std::numeric_limits<std::int32_t>::max()) {
    throw Error("a gallery of more than 2^31 vectors cannot be searched at once");
  }
  vectors_ = vectors_.detach().contiguous();
  squared_norms_ = checked_squared_norms(vectors_, metric, "gallery", name_of_row);
  extents_.resize(squared_norms_.size());
  const float* data = vectors_.data_ptr<float>();
  at::parallel_for(0, size(), grain(256), [&](std::int64_t begin, std::int64_t end) {
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
  if (!multiplies_bfloat16()) return;
  const RoundedVectors rounded = round_to_bfloat16(vectors_);
  rounded_ = rounded.vectors;
  for (std::size_t row = 0; row < rounded.moves.size(); ++row) {
    const double unit = metric == Metric::cosine ? std::sqrt(squared_norms_[row]) : 1;
    largest_move_ = std::max(largest_move_, rounded.moves[row] / unit);
  }
}

Neighbours ExactIndex::search(const torch::Tensor& queries, const SearchOptions& options,
                              const NameOfRow& name_of_row) const {
  check_matrix(queries, "query");
  if (queries.size(1) != dimensions()) {
    throw Error("the query vectors have " + std::to_string(queries.size(1)) +
                " dimensions, the gallery's " + std::to_string(dimensions()) +
                "; embed both with the same model");
  }
  if (options.k < 1 || options.query_tile < 1 || options.gallery_tile < 1) {
    throw Error("k and the tile sizes of a search must be at least 1", Fault::internal);
  }
  const std::int64_t count = queries.size(0);
  check_length(options.excluded_row.size(), count, "the list of excluded rows");
  check_length(options.farther_than.size(), count, "the list of minimum distances");
  check_length(options.query_item.size(), count, "the list of query items");
  check_length(options.gallery_item.size(), size(), "the list of gallery items");

  const torch::Tensor vectors = queries.detach().contiguous();
  const std::vector<double> squared_norms =
      checked_squared_norms(vectors, metric_, "query", name_of_row);
  const bool with_items = !options.query_item.empty() && !options.gallery_item.empty();
  const GalleryView view{vectors_.data_ptr<float>(),
                         squared_norms_.data(),
                         extents_.data(),
                         size(),
                         dimensions(),
                         largest_norm_,
                         metric_,
                         with_items ? options.gallery_item : std::span<const std::int64_t>{}};

  GalleryView rounded_view = view;
  rounded_view.largest_move = largest_move_;
  rounded_view.product_rounding = bfloat16_rounding;
  if (!score_offset_.empty()) {
    const auto [least, largest] = std::minmax_element(score_offset_.begin(), score_offset_.end());
    rounded_view.least_offset = *least;
    rounded_view.largest_offset = *largest;
  }

  Neighbours result;
  result.queries = count;
  result.k = options.k;
  result.rows.resize(static_cast<std::size_t>(count * options.k));
  result.distances.resize(static_cast<std::size_t>(count * options.k));
  result.tied_beyond.resize(static_cast<std::size_t>(count));
  result.tied_beyond_relevant.resize(static_cast<std::size_t>(count));
  const std::span<std::int64_t> rows(result.rows);
  const std::span<float> distances(result.distances);
  const auto k = static_cast<std::size_t>(options.k);

  // Small sets are divided among the threads; large ones use the requested tile if its searches fit
  // into memory.
  const std::int64_t threads = std::max(1, at::get_num_threads());
  const std::int64_t fits =
      std::max<std::int64_t>(1, memory_of_tile / QuerySearch::bytes(options.k, size()));
  const std::int64_t tile = std::clamp<std::int64_t>((count + threads - 1) / threads, 1,
                                                     std::min(options.query_tile, fits));
  const std::int64_t gallery_tile = std::clamp<std::int64_t>(size(), 1, options.gallery_tile);
  const std::int64_t blocks = (count + tile - 1) / tile;
  const Factor gallery{vectors_, rounded_};
  const bool may_round =
      rounded_.defined() && multiplies_bfloat16() && options.products != Products::float32 &&
      (options.products == Products::bfloat16 ||
       tile * std::min(size(), gallery_tile) * dimensions() >= least_work_worth_rounding);
  at::parallel_for(0, blocks, 1, [&](std::int64_t first_block, std::int64_t last_block) {
    const torch::NoGradGuard no_grad;  // thread-local, so it is set in the working thread
    ProductTile tile_of_products(tile * gallery_tile, may_round ? tile * gallery_tile : 0);
    bool in_bfloat16 = may_round;
    for (std::int64_t block = first_block; block < last_block; ++block) {
      const std::int64_t begin = block * tile;
      const std::int64_t block_size = std::min(tile, count - begin);
      std::vector<QuerySearch> searches;
      searches.reserve(static_cast<std::size_t>(block_size));
      const auto scan_gallery = [&](const GalleryView& gallery_view, const Factor& block_vectors,
                                    std::span<const double> moves) {
        searches.clear();
        for (std::int64_t q = begin; q < begin + block_size; ++q) {
          const QueryView query{vectors.data_ptr<float>() + q * dimensions(),
                                squared_norms[q],
                                options.excluded_row.empty() ? -1 : options.excluded_row[q],
                                with_items ? options.query_item[q] : -1,
                                options.k,
                                moves.empty() ? 0 : moves[q - begin],
                                options.farther_than.empty() ? -1 : options.farther_than[q]};
          searches.emplace_back(gallery_view, query);
        }
        for (std::int64_t first = 0; first < size(); first += gallery_tile) {
          const std::int64_t columns = std::min(gallery_tile, size() - first);
          const float* row = tile_of_products.multiply(block_vectors, gallery.rows(first, columns));
          for (QuerySearch& search : searches) {
            search.scan({row, score_offset_.data() + first, score_scale_.data() + first}, first,
                        columns);
            row += columns;
          }
          if (!moves.empty() && options.products == Products::fastest &&
              !pays(searches, options.k, first + columns)) {
            return false;
          }
        }
        return true;
      };
      Factor block_vectors{vectors.narrow(0, begin, block_size), {}};
      if (in_bfloat16) {
        const RoundedVectors rounded = round_to_bfloat16(block_vectors.exact);
        in_bfloat16 =
            scan_gallery(rounded_view, {block_vectors.exact, rounded.vectors}, rounded.moves);
      }
      if (!in_bfloat16) scan_gallery(view, block_vectors, {});
      QuerySearch::measure_together(searches);
      for (std::int64_t q = begin; q < begin + block_size; ++q) {
        const std::size_t at = static_cast<std::size_t>(q) * k;
        searches[q - begin].finish(rows.subspan(at, k), distances.subspan(at, k),
                                   result.tied_beyond[q], result.tied_beyond_relevant[q]);
      }
    }
  });
  return result;
}

}  // namespace seam::stages
