#include "reranking.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>
#include <utility>

using seam::Tensor;
using seam::retrieval::GalleryRow;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr char separator = '\x1f';  // of saved texts
constexpr seam::Field<std::vector<std::filesystem::path>> paths{"paths", "*[N]"};

/// The vectors in double, scaled to unit length.
Tensor unit_rows(const Tensor& vectors, const seam::retrieval::NameOfRow& name) {
  const Tensor wide = seam::on_host(vectors, torch::kFloat64);
  const Tensor length = wide.norm(2, 1, /*keepdim=*/true);
  for (std::int64_t row = 0; row < wide.size(0); ++row) {
    const double of_row = length[row].item<double>();
    if (of_row >= 1e-12 && std::isfinite(of_row)) continue;
    throw seam::Error("the embedding of " + name(row) + " has length " + std::to_string(of_row) +
                      ", so it has no direction to compare");
  }
  return wide / length;
}

/// Squared distances of vectors with unit length. Without the rounding, equal vectors would not
/// tie.
Tensor distances(const Tensor& similarity) {
  const Tensor distance = (2 - 2 * similarity).clamp_min(0);
  return distance.masked_fill(distance < 1e-12, 0).to(torch::kFloat32);
}

/// The order of ascending values in the last dimension; equal values keep theirs.
Tensor ascending(const Tensor& values) {
  return std::get<1>(torch::sort(values, /*stable=*/true, -1, /*descending=*/false));
}

std::string short_text(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

}  // namespace

Tensor expanded(const Tensor& query, const Tensor& gallery, const Tensor& similarity,
                std::int64_t neighbours, double alpha) {
  const auto count = std::min<std::int64_t>(neighbours, similarity.isfinite().sum().item<int>());
  const Tensor nearest = ascending(-similarity).narrow(0, 0, count);
  const Tensor weights = similarity.index_select(0, nearest).clamp_min(0).pow(alpha);
  return query + gallery.index_select(0, nearest).t().mv(weights);
}

Tensor reciprocal_distances(const Tensor& vectors, const KReciprocal& options) {
  const std::int64_t count = vectors.size(0);
  const Tensor distance = distances(vectors.mm(vectors.t())).to(torch::kFloat64).fill_diagonal_(0);
  const Tensor share = distance / distance.amax(1, /*keepdim=*/true).clamp_min(1e-12);
  // Every image is its own nearest.
  const Tensor order = ascending(distance.clone().fill_diagonal_(-1));
  const auto reciprocal = [&](std::int64_t k) {
    const Tensor near = torch::zeros({count, count}, torch::kBool)
                            .scatter_(1, order.narrow(1, 0, std::min(k + 1, count)), true);
    return near.logical_and(near.t()).to(torch::kFloat64);
  };
  const Tensor own = reciprocal(options.k1);
  const auto half_k =
      static_cast<std::int64_t>(std::nearbyint(static_cast<double>(options.k1) / 2));
  const Tensor half = reciprocal(half_k);
  const Tensor joins = own * (3 * own.mm(half.t()) > 2 * half.sum(1));
  Tensor encoding = (-share).exp() * (own + joins.mm(half) > 0);
  encoding = encoding / encoding.sum(1, /*keepdim=*/true);
  const Tensor over = order.narrow(1, 0, std::min(options.k2, count));
  encoding = encoding.index_select(0, over.flatten()).view({count, over.size(1), count}).mean(1);
  const Tensor common = torch::min(encoding, encoding[0]).sum(1);
  const Tensor jaccard = 1 - common / (2 - common);  // the sums of both encodings are 1
  return ((1 - options.lambda) * jaccard + options.lambda * share[0]).narrow(0, 1, count - 1);
}

void Reranking::declare(seam::Declaration& d) {
  d.doc(
      "A gallery for `retrieval.search` that compares by cosine, moves each query towards its "
      "nearest images (query expansion) and re-ranks what it then finds by k-reciprocal "
      "neighbours. "
      "Neither reads labels.");
  d.parameter("expand", expand_, "number of gallery embeddings to add to a query; 0: none")
      .range(0, 10000);
  d.parameter("alpha", alpha_,
              "exponent of a neighbour's weight, which is its cosine to the query to this power "
              "(0 if negative); with 0, all weights are 1")
      .range(0, 100);
  d.parameter("k1", options_.k1, "number of neighbours considered per image; 0: no re-ranking")
      .range(0, 1000);
  d.parameter("k2", options_.k2,
              "number of nearest neighbours (including the image itself) over which an image's "
              "encoding is averaged; 1: no averaging")
      .range(1, 1000);
  d.parameter("lambda", options_.lambda, "weight of the original distance in the final one")
      .range(0, 1);
  d.parameter("depth", depth_,
              "number of nearest images of a query that are re-ranked, and among which neighbours "
              "are looked for; at least `k` of the search")
      .range(1, 10000);
  d.needs(seam::field::embedding);
  d.needs(seam::field::items);
  d.needs(seam::field::indices).doc("the row id by which ties are ranked");
  d.needs(seam::field::origins);
  d.accepts(seam::field::categories);
  d.accepts(paths).doc("to detect queries that are in the gallery");
  d.accepts(seam::field::images).doc("only for their size in the protocol");
  d.offers<seam::retrieval::Gallery>(*this);
  d.keeps_state(seam::Kept::until_next_flow);
}

void Reranking::open(seam::Context& /*context*/) {
  if (options_.k1 == 0 && expand_ == 0) {
    throw seam::Error("`k1` and `expand` are 0, so there is nothing to do: use retrieval.index",
                      seam::Fault::configuration);
  }
  if (options_.k1 == 0 || options_.k2 <= options_.k1) return;
  throw seam::Error("`k2` is " + std::to_string(options_.k2) + " and `k1` " +
                        std::to_string(options_.k1) + "; k2 must not exceed k1",
                    seam::Fault::configuration);
}

void Reranking::begin(seam::Context& context) {
  rows_.clear();
  files_.clear();
  batches_.clear();
  vectors_ = Tensor();
  input_ = {};
  trainings_ = context.trainings();
}

void Reranking::process(const seam::Packet& packet, seam::Context& /*context*/) {
  const std::vector<std::string>& items = packet[seam::field::items];
  const std::vector<seam::Origin>& origins = packet[seam::field::origins];
  if (packet.has(seam::field::images)) {
    const Tensor& images = packet[seam::field::images];
    const seam::retrieval::InputSize size{images.size(2), images.size(3)};
    input_ = rows_.empty() ? size : seam::retrieval::together(input_, size);
  }
  const bool categories = packet.has(seam::field::categories);
  for (std::size_t i = 0; i < items.size(); ++i) {
    rows_.push_back({packet[seam::field::indices][i], items[i],
                     categories ? packet[seam::field::categories][i] : -1, origins[i]});
    const std::filesystem::path path =
        packet.has(paths) ? packet[paths].at(i) : std::filesystem::path();
    files_.push_back(path.empty() ? "" : std::filesystem::weakly_canonical(path).string());
  }
  batches_.push_back(unit_rows(packet[seam::field::embedding], [&](std::int64_t row) {
    return origins[static_cast<std::size_t>(row)].text();
  }));
}

void Reranking::end(seam::Context& context) {
  if (rows_.empty()) throw seam::Error("no image arrived for the gallery");
  std::vector<std::int64_t> order(rows_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int64_t row) { return rows_[row].id; });
  vectors_ = torch::cat(std::exchange(batches_, {})).index_select(0, torch::tensor(order));
  std::ranges::sort(rows_, {}, &GalleryRow::id);
  std::vector<std::string> files;
  for (const std::int64_t row : order) files.push_back(std::move(files_[row]));
  files_ = std::move(files);
  if (options_.k1 > 0 && std::ssize(rows_) > depth_) {
    context.info("images tied with the last of `depth` = " + std::to_string(depth_) +
                 " are not re-ranked");
  }
  const auto twice = std::ranges::adjacent_find(rows_, {}, &GalleryRow::id);
  if (twice == rows_.end()) return;
  throw seam::Error(twice->origin.text() + " and " + std::next(twice)->origin.text() +
                    " have the same index " + std::to_string(twice->id));
}

std::string Reranking::method() const {
  std::string text = "exact";
  if (expand_ > 0) {
    text += "/expand=" +
            (alpha_ == 0 ? "average(" + std::to_string(expand_)
                         : "alpha(" + std::to_string(expand_) + "," + short_text(alpha_)) +
            ")";
  }
  if (options_.k1 > 0) {
    // In reports, distances after "rerank=" are no longer those of the metric.
    text += "/rerank=k-reciprocal(" + std::to_string(options_.k1) + "," +
            std::to_string(options_.k2) + "," + short_text(options_.lambda) + ")-of-" +
            std::to_string(depth_);
  }
  return text;
}

seam::retrieval::Neighbours Reranking::search(const Tensor& queries,
                                              const seam::retrieval::SearchRequest& request) const {
  const std::int64_t images = vectors_.size(0);
  if (queries.size(1) != vectors_.size(1)) {
    throw seam::Error("the queries have " + std::to_string(queries.size(1)) +
                      " elements, the gallery's vectors " + std::to_string(vectors_.size(1)));
  }
  const bool reranks = options_.k1 > 0;
  const Tensor unit = unit_rows(queries, request.name_of_query);
  seam::retrieval::Neighbours found{queries.size(0), request.k, {}, {}, {}, {}};
  for (std::int64_t q = 0; q < found.queries; ++q) {
    const std::int64_t excluded = request.excluded_row.empty() ? -1 : request.excluded_row[q];
    const std::int64_t available = images - (excluded >= 0 ? 1 : 0);
    const std::int64_t count = std::min(request.k, available);
    if (reranks && count > depth_) {
      throw seam::Error("the search needs " + std::to_string(count) + " neighbours, but only " +
                            std::to_string(depth_) +
                            " are re-ranked; set `depth` to at least `k` of retrieval.search",
                        seam::Fault::configuration);
    }
    const auto similarity_of = [&](const Tensor& query) {
      Tensor similarity = vectors_.mv(query);
      if (excluded >= 0) similarity[excluded] = -infinity;
      return similarity;
    };
    Tensor query = unit[q];
    if (expand_ > 0) {
      query = expanded(query, vectors_, similarity_of(query), expand_, alpha_);
      query = unit_rows(query.unsqueeze(0), [&](std::int64_t) {
        return request.name_of_query(q) + ", with its neighbours added,";
      })[0];
    }
    Tensor distance = distances(similarity_of(query));
    Tensor rows = ascending(distance);
    if (reranks) {
      rows = std::get<0>(rows.narrow(0, 0, std::min(depth_, available)).sort());
      const Tensor vectors = torch::cat({query.unsqueeze(0), vectors_.index_select(0, rows)});
      const Tensor re_ranked = reciprocal_distances(vectors, options_).to(torch::kFloat32);
      rows = rows.index_select(0, ascending(re_ranked));
      distance.index_put_({rows}, re_ranked.index_select(0, ascending(re_ranked)));
    }
    for (std::int64_t n = 0; n < request.k; ++n) {
      found.rows.push_back(n < count ? rows[n].item<std::int64_t>() : -1);
      found.distances.push_back(n < count ? distance[found.rows.back()].item<float>() : INFINITY);
    }
    // Distances of a re-ranking cannot be compared with those of images that were not re-ranked.
    std::int64_t tied = 0;
    std::int64_t relevant = 0;
    for (std::int64_t n = count; n < available && !reranks; ++n) {
      const auto row = rows[n].item<std::int64_t>();
      if (distance[row].item<float>() != found.distances.back()) break;
      ++tied;
      if (!request.query_item.empty() && request.query_item[q] == request.gallery_item[row]) {
        ++relevant;
      }
    }
    found.tied_beyond.push_back(tied);
    found.tied_beyond_relevant.push_back(relevant);
  }
  return found;
}

void Reranking::save(seam::Archive& archive) const {
  if (!ready()) return;
  std::string texts;
  std::vector<std::int64_t> numbers{trainings_, input_.height, input_.width};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const GalleryRow& row = rows_[i];
    for (const std::string& text :
         {row.item, row.origin.file ? *row.origin.file : "", row.origin.item, files_[i]}) {
      texts += text + separator;
    }
    numbers.insert(numbers.end(), {row.id, row.category, row.origin.line});
  }
  archive.put("texts", texts);
  seam::put_tensor(archive, "numbers", torch::tensor(numbers));
  seam::put_tensor(archive, "vectors", vectors_);
}

void Reranking::load(const seam::Archive& archive) {
  rows_.clear();
  files_.clear();
  vectors_ = Tensor();
  if (!archive.has("vectors")) return;
  const Tensor vectors = seam::saved_tensor(archive, "vectors", torch::kFloat64);
  const Tensor numbers = seam::saved_tensor(archive, "numbers", torch::kInt64);
  const std::string saved = archive.text("texts");
  if (vectors.dim() != 2 || numbers.numel() != 3 + 3 * vectors.size(0) ||
      std::ranges::count(saved, separator) != 4 * vectors.size(0)) {
    throw seam::Error("the saved gallery has different numbers of vectors, numbers and texts");
  }
  const std::int64_t* next = numbers.data_ptr<std::int64_t>();
  trainings_ = next[0];
  input_ = {next[1], next[2]};
  next += 3;
  std::istringstream texts(saved);
  for (std::int64_t row = 0; row < vectors.size(0); ++row, next += 3) {
    GalleryRow& loaded = rows_.emplace_back();
    auto file = std::make_shared<std::string>();
    std::getline(texts, loaded.item, separator);
    std::getline(texts, *file, separator);
    std::getline(texts, loaded.origin.item, separator);
    std::getline(texts, files_.emplace_back(), separator);
    if (!file->empty()) loaded.origin.file = std::move(file);
    loaded.id = next[0];
    loaded.category = next[1];
    loaded.origin.line = next[2];
  }
  vectors_ = vectors;
}
