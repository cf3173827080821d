#include "stages/dataset/wardrobe.hpp"

#include "stages/counted.hpp"

namespace seam::stages {

void Wardrobe::declare(Declaration& d) {
  d.doc(
      "Serves one split of a wardrobe: photographs of garments that Seam draws itself.\n\n"
      "If the folder is new or empty, the wardrobe is drawn first. Stages that serve different "
      "splits of the same root must have the same parameters.");
  d.parameter("root", root_, "the folder to draw into and to serve from");
  declare_split(d);
  d.parameter("items", options_.items, "number of garments, distributed over fourteen categories")
      .range(2, 1'000'000);
  d.parameter("colours", options_.colours, "number of colourways of each garment").range(1, 12);
  d.parameter("views", options_.views, "number of photographs of each colourway").range(1, 60);
  d.parameter("size", options_.size, "side of the images").range(32, 1024).unit("px");
  d.parameter("test_share", options_.test_share,
              "fraction of the garments that are in query and gallery instead of train")
      .range(0, 1);
  d.parameter("seed", options_.seed, "seed of the wardrobe");
  d.parameter("threads", threads_, "number of threads that draw; the images do not depend on it")
      .range(1, 256)
      .same_results();
}

void Wardrobe::open(Context& context) {
  bool said = false;
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    if (context.stop_requested()) {
      throw Error("stopped after " + std::to_string(done) + " of " + std::to_string(total) +
                      " images were drawn; the next run draws all of them",
                  Fault::cancelled);
    }
    if (!said) {
      context.info("drawing a wardrobe of " + counted(total, "image") + " in '" + root_.string() +
                   "'");
    }
    said = true;
  };
  provide_wardrobe(root_, options_, threads_, progress);
  serve_list(root_, "Eval/list_eval_partition.txt", {}, context);
}

}  // namespace seam::stages
