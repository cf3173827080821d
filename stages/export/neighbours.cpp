#include "stages/export/neighbours.hpp"

#include <algorithm>

#include "stages/export/csv.hpp"
#include "stages/ranking_method.hpp"

namespace seam::stages {
namespace {

std::string number_or_empty(std::int64_t number) {
  return number < 0 ? std::string() : std::to_string(number);
}

}  // namespace

void NearestNeighbours::declare(Declaration& d) {
  d.doc(
      "Writes the nearest gallery images of every query as `STAGE.csv`, named after the stage, "
      "nearest first: `query` and `picture` as their data sets name them, with index, item and the "
      "image's category; `rank` from 1; `distance` by the `metric` of the search, and for cosine "
      "also `similarity`, the cosine itself. After query expansion or re-ranking, `metric` also "
      "names the method, and after re-ranking `similarity` is empty: distances are then those of "
      "the re-ranking. One line per neighbour and searched mask. The file is written when the flow "
      "has ended and is replaced if it runs again.");
  d.only_writes();
  d.reference("index", gallery_, "the `retrieval.index` stage that was searched");
  d.parameter("k", k_, "number of neighbours to write; the search must find at least this many")
      .range(1, 100000);
  d.parameter("folder", folder_, "folder of the file, relative to the run folder");
  d.needs(field::rankings).contract("*[N," + std::to_string(k_) + "+]");
  d.needs(field::origins);
  d.accepts(field::indices).doc("empty if absent or -1");
  d.accepts(field::items).doc("empty if absent");
}

void NearestNeighbours::begin(Context& context) {
  flow_.enter(context);
  file_.reset();
  queries_ = 0;
  same_gallery_.begin();
  ExportedFile file(export_path(folder_, context).string() + ".csv");
  file.write(
      "query,query_index,query_item,mask,rank,picture,index,item,category,metric,distance,"
      "similarity\n");
  file_ = std::move(file);
}

void NearestNeighbours::process(const Packet& packet, Context& /*context*/) {
  const auto& rankings = packet.get(field::rankings);
  if (const std::string problem = problem_with(rankings); !problem.empty()) {
    throw Error("field 'rankings' cannot be written: " + problem, Fault::internal);
  }
  same_gallery_.check(*gallery_, rankings);
  for (std::size_t query = 0; query < rankings.item.size(); ++query) {
    for (const retrieval::Ranking& ranking : rankings.by_mask) {
      write_neighbours(packet, query, ranking, rankings.method);
    }
    ++queries_;
  }
}

void NearestNeighbours::write_neighbours(const Packet& packet, std::size_t query,
                                         const retrieval::Ranking& ranking,
                                         const std::string& method) {
  const Origin& origin = packet.get(field::origins)[query];
  const std::string index =
      packet.has(field::indices) ? number_or_empty(packet.get(field::indices)[query]) : "";
  const std::string item = packet.has(field::items) ? packet.get(field::items)[query] : "";
  const bool cosine = ranking.metric == retrieval::Metric::cosine && !is_reranked(method);
  const std::string order = order_of(ranking.metric, method);
  const auto found = static_cast<std::size_t>(ranking.neighbours.k);
  const std::size_t wanted = std::min(found, static_cast<std::size_t>(k_));
  for (std::size_t rank = 0; rank < wanted; ++rank) {
    const std::int64_t row = ranking.neighbours.rows[query * found + rank];
    if (row < 0) break;  // the gallery has no more
    const retrieval::GalleryRow& picture = gallery_->rows()[static_cast<std::size_t>(row)];
    const float distance = ranking.neighbours.distances[query * found + rank];
    file_->write(
        csv_line({origin.item, index, item, to_string(ranking.mask), std::to_string(rank + 1),
                  picture.origin.item, number_or_empty(picture.id), picture.item,
                  number_or_empty(picture.category), order, csv_number(distance),
                  cosine ? csv_number(1 - distance / 2) : ""}));
  }
}

void NearestNeighbours::end(Context& context) {
  if (queries_ == 0) throw Error("no query was received, so there is nothing to export");
  ExportedFile file = std::move(*file_);
  file_.reset();
  const std::string shown = file.path().string();
  file.finish();
  file.commit();
  context.info("the neighbours of " + std::to_string(queries_) + " queries in '" + shown + "'");
}

void NearestNeighbours::close() {
  file_.reset();  // the flow did not end
}

}  // namespace seam::stages
