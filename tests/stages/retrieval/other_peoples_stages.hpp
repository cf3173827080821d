/// An index and a metric like those of other plugins, written only against the installed headers.
#pragma once

#include <algorithm>
#include <limits>
#include <seam/gallery.hpp>
#include <seam/retrieval.hpp>
#include <seam/tensor.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace other_people {

using seam::retrieval::GalleryRow;
using seam::retrieval::Mask;
using seam::retrieval::Metric;
using seam::retrieval::Neighbours;

/// Compares by city-block distance, the slow way.
class CityBlock : public seam::Compute<seam::Sink>, public seam::retrieval::Gallery {
 public:
  static constexpr std::string_view name = "other.city_block";

  void declare(seam::Declaration& d) override {
    d.doc("Keeps embeddings, which are compared by the sum of absolute differences.");
    d.needs(seam::field::embedding);
    d.needs(seam::field::items);
    d.needs(seam::field::origins);
    d.offers<seam::retrieval::Gallery>(*this);
  }

  void begin(seam::Context& context) override {
    rows_.clear();
    vectors_ = seam::Tensor();
    trainings_ = context.trainings();
  }

  void process(const seam::Packet& packet, seam::Context& /*context*/) override {
    const auto& items = packet[seam::field::items];
    for (std::size_t i = 0; i < items.size(); ++i) {
      rows_.push_back(
          {static_cast<std::int64_t>(rows_.size()), items[i], -1, packet[seam::field::origins][i]});
    }
    const seam::Tensor batch = packet[seam::field::embedding].detach().clone();
    vectors_ = vectors_.defined() ? torch::cat({vectors_, batch}) : batch;
  }

  [[nodiscard]] std::vector<Mask> masks() const override { return {Mask::none}; }
  [[nodiscard]] bool ready() const override { return vectors_.defined(); }
  [[nodiscard]] std::span<const GalleryRow> rows() const override { return rows_; }
  [[nodiscard]] Metric metric(Mask /*mask*/) const override { return Metric::squared_euclidean; }
  [[nodiscard]] std::string method() const override { return "city-block"; }
  [[nodiscard]] std::int64_t trainings() const override { return trainings_; }

  [[nodiscard]] Neighbours search(const seam::Tensor& queries,
                                  const seam::retrieval::SearchRequest& request) const override {
    Neighbours found;
    found.queries = queries.size(0);
    found.k = request.k;
    const auto size = static_cast<std::int64_t>(rows_.size());
    for (std::int64_t q = 0; q < found.queries; ++q) {
      const seam::Tensor distance = (vectors_ - queries[q]).abs().sum(1);
      std::vector<std::pair<float, std::int64_t>> all;
      for (std::int64_t row = 0; row < size; ++row) {
        if (!request.excluded_row.empty() && request.excluded_row[q] == row) continue;
        all.emplace_back(distance[row].item<float>(), row);
      }
      std::sort(all.begin(), all.end());
      for (std::int64_t n = 0; n < found.k; ++n) {
        const bool there = n < static_cast<std::int64_t>(all.size());
        found.rows.push_back(there ? all[n].second + shift_ : -1);
        found.distances.push_back(there ? all[n].first : std::numeric_limits<float>::infinity());
      }
      found.tied_beyond.push_back(0);
      found.tied_beyond_relevant.push_back(0);
    }
    return found;
  }

  /// Makes search() return rows that do not exist, for tests of the checks.
  void search_beyond(std::int64_t rows) { shift_ = rows; }

 private:
  std::vector<GalleryRow> rows_;
  seam::Tensor vectors_;
  std::int64_t trainings_ = 0;
  std::int64_t shift_ = 0;
};

/// The fraction of queries whose nearest neighbour shows their item.
class NearestIsRight final : public seam::Sink {
 public:
  static constexpr std::string_view name = "other.nearest_is_right";

  void declare(seam::Declaration& d) override {
    d.doc("The share of queries whose nearest neighbour shows their item.");
    d.needs(seam::field::rankings).contract("*[N,1+]");
  }

  void begin(seam::Context& /*context*/) override { right_ = queries_ = 0; }

  void process(const seam::Packet& packet, seam::Context& /*context*/) override {
    const seam::retrieval::Rankings& rankings = packet[seam::field::rankings];
    const seam::retrieval::Ranking& ranking = rankings.by_mask.at(0);
    for (std::size_t q = 0; q < rankings.item.size(); ++q) {
      const auto k = static_cast<std::size_t>(ranking.neighbours.k);
      right_ += ranking.items[q * k] == rankings.item[q] ? 1 : 0;
      ++queries_;
    }
  }

  void end(seam::Context& context) override {
    if (queries_ == 0) throw seam::Error("no query arrived");
    context.metric("right", static_cast<double>(right_) / static_cast<double>(queries_));
  }

 private:
  std::int64_t right_ = 0;
  std::int64_t queries_ = 0;
};

}  // namespace other_people
