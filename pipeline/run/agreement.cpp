#include "pipeline/run/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "seam/error.hpp"

namespace seam::host {
namespace {

using Term = Terms::value_type;

Term nothing_like(const Term& term) {
  return {term.first, "nothing"};
}

}  // namespace

void agree_on(const Terms& terms, Ranks& ranks) {
  const auto all = ranks.all_gather("the pipeline", nlohmann::json(terms).dump());
  const auto first = nlohmann::json::parse(all.front()).get<Terms>();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    const auto other = nlohmann::json::parse(all[rank]).get<Terms>();
    std::string text;
    for (std::size_t at = 0; at < std::max(first.size(), other.size()); ++at) {
      const Term here = at < first.size() ? first[at] : nothing_like(other[at]);
      const Term there = at < other.size() ? other[at] : nothing_like(first[at]);
      if (here == there) continue;
      text += fmt::format("\n{}: {} on rank 0, {} on rank {}", here.first, here.second,
                          there.second, rank);
    }
    throw Error(fmt::format("the ranks would not compute the same; all of them need the same "
                            "program, plugins, files and options:{}",
                            text),
                Fault::configuration);
  }
}

bool AgreedStop::requested() {
  if (agreed_) return true;
  const bool asked = stop_.soon || stop_.cancel;
  const auto all = ranks_.all_gather("the end of a flow", asked ? "stop" : "");
  agreed_ = std::ranges::any_of(all, [](const std::string& one) { return !one.empty(); });
  return agreed_;
}

}  // namespace seam::host
