/// Stage `loss.proxy_nca`: compares embeddings with one learned proxy per category.
///
///     embedding x ──► d(x, own proxy) small, d(x, other proxies) large ──► loss
///
/// Movshovitz-Attias, Toshev, Leung, Ioffe, Singh, "No Fuss Distance Metric Learning Using
/// Proxies", ICCV 2017, equation 4.
#pragma once

#include <seam/loss.hpp>
#include <string_view>
#include <vector>

/// The mean over a batch of d(x, p_y) + log of the sum over z != y of exp(-d(x, p_z)), with squared
/// Euclidean distances of unit vectors. `embedding` is [N,E], `proxies` [K,E], `categories` i64[N].
seam::Tensor proxy_nca(const seam::Tensor& embedding, const seam::Tensor& proxies,
                       const seam::Tensor& categories);

class ProxyNca final : public seam::Loss {
 public:
  static constexpr std::string_view name = "loss.proxy_nca";

  void declare(seam::Declaration& d) override;
  void open(seam::Context& context) override;
  void save(seam::Archive& archive) const override;
  void load(const seam::Archive& archive) override;

  /// The weights that an optimizer further down the flow trains.
  std::vector<seam::NamedWeight> weights() override { return {{"proxies", proxies_}}; }

 private:
  seam::Tensor compute(const seam::Packet& packet, seam::Context& context) override;

  int classes_ = 0;
  int size_ = 0;
  seam::Tensor proxies_;
};
