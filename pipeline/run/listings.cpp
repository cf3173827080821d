#include "pipeline/run/listings.hpp"

#include <fmt/format.h>

#include <optional>

#include "pipeline/text/json.hpp"
#include "pipeline/text/parse.hpp"
#include "seam/error.hpp"
#include "seam/listing.hpp"

namespace seam::host {

Listings listings_of(const CheckedPipeline& pipeline, const std::vector<std::string>& opened) {
  Listings listings;
  for (const std::string& name : opened) {
    const StageRunner& stage = *pipeline.stages.at(name);
    const auto* const listing = static_cast<const Listing*>(stage.interface(type_name<Listing>()));
    if (listing != nullptr) listings.emplace(name, listing->listing_digest());
  }
  return listings;
}

std::string text_of(const Listings& listings) {
  Json json = Json::object();
  for (const auto& [stage, digest] : listings) json[stage] = fmt::format("{:016x}", digest);
  return json_line(json);
}

Listings listings_from(const std::string& text) {
  const Json json = try_parse_json(text);
  const Error invalid("its '" + listings_key + "' is not a digest for each data set");
  if (!json.is_object()) throw Error(invalid);
  Listings listings;
  for (const auto& [stage, digest] : json.items()) {
    const auto number =
        digest.is_string() ? number_in<std::uint64_t>(digest.get<std::string>(), 16) : std::nullopt;
    if (!number) throw Error(invalid);
    listings.emplace(stage, *number);
  }
  return listings;
}

}  // namespace seam::host
