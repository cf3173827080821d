/// Stage `retrieval.reranking`: a gallery that expands each query by its neighbours and re-ranks
/// what it finds.
///
///     gallery images ──► [ retrieval.reranking ]
///                                  │ index
///     queries ──────────► [ retrieval.search ] ──► rankings
///
/// Chum, Philbin, Sivic, Isard, Zisserman, "Total Recall", ICCV 2007 (query expansion); Radenović,
/// Tolias, Chum, "Fine-tuning CNN Image Retrieval with No Human Annotation", TPAMI 2019 (its
/// weights); Zhong, Zheng, Cao, Li, "Re-ranking Person Re-identification with k-Reciprocal
/// Encoding", CVPR 2017.
#pragma once

#include <cstdint>
#include <seam/gallery.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// q + Σ max(0, cos(q, g))^alpha g over the nearest `neighbours` gallery vectors g that
/// have a finite similarity. `query` f64[E] and `gallery` f64[G,E] have unit length; `similarity`
/// f64[G] are their cosines. Returns f64[E].
seam::Tensor expanded(const seam::Tensor& query, const seam::Tensor& gallery,
                      const seam::Tensor& similarity, std::int64_t neighbours, double alpha);

struct KReciprocal {
  std::int64_t k1 = 20;
  std::int64_t k2 = 6;
  double lambda = 0.3;
};

/// The re-ranking distances, f64[M], of M images to a query, from 0 to 1. `vectors` f64[1+M,E] of
/// unit length: the query's, then the images'.
///
///     R(p,k)   = the images among the k nearest of p that have p among theirs
///     R*(p)    = R(p,k1) and R(c,k1/2) of each c in it that shares over 2/3 of that with R(p,k1)
///     V_p[j]   = exp(-d(p,j) / max d(p,.)) for j in R*(p), scaled to the sum 1; then the mean over
///                p and its k2 - 1 nearest
///     distance = (1 - lambda) (1 - Σ min(V_p, V_g) / Σ max(V_p, V_g)) + lambda d(p,g) / max d(p,.)
seam::Tensor reciprocal_distances(const seam::Tensor& vectors, const KReciprocal& options);

class Reranking final : public seam::Compute<seam::Sink>,
                        public seam::retrieval::Gallery,
                        public seam::retrieval::GalleryImages {
 public:
  static constexpr std::string_view name = "retrieval.reranking";

  void declare(seam::Declaration& d) override;
  void open(seam::Context& context) override;
  void begin(seam::Context& context) override;
  void process(const seam::Packet& packet, seam::Context& context) override;
  void end(seam::Context& context) override;
  void save(seam::Archive& archive) const override;
  void load(const seam::Archive& archive) override;

  [[nodiscard]] std::vector<seam::retrieval::Mask> masks() const override {
    return {seam::retrieval::Mask::none};
  }
  [[nodiscard]] bool ready() const override { return vectors_.defined(); }
  [[nodiscard]] std::span<const seam::retrieval::GalleryRow> rows() const override { return rows_; }
  [[nodiscard]] std::span<const std::string> files() const override { return files_; }
  [[nodiscard]] seam::retrieval::Metric metric(seam::retrieval::Mask /*mask*/) const override {
    return seam::retrieval::Metric::cosine;
  }
  [[nodiscard]] std::string method() const override;
  [[nodiscard]] std::int64_t trainings() const override { return trainings_; }
  [[nodiscard]] seam::retrieval::InputSize input() const override { return input_; }
  [[nodiscard]] seam::retrieval::Neighbours search(
      const seam::Tensor& queries, const seam::retrieval::SearchRequest& request) const override;

 private:
  std::int64_t expand_ = 0;
  double alpha_ = 0;
  std::int64_t depth_ = 200;
  KReciprocal options_;
  std::vector<seam::retrieval::GalleryRow> rows_;
  std::vector<std::string> files_;     // of rows_
  std::vector<seam::Tensor> batches_;  // until the flow ends
  seam::Tensor vectors_;               // f64[G,E] of unit length, in the order of rows_
  seam::retrieval::InputSize input_;
  std::int64_t trainings_ = 0;
};
