#include "stages/dataset/wardrobe.hpp"

#include <string>

#include "stages/counted.hpp"

namespace seam::stages {

void Wardrobe::declare(Declaration& declaration) {
  declaration.doc(
      "Serves one split of a wardrobe: photographs of garments that Seam draws itself.\n\n"
      "If the folder is new or empty, the wardrobe is drawn first. Stages that serve different "
      "splits of the same root must have the same parameters.");
  declaration.parameter("root", root_, "the folder to draw into and to serve from");
  declare_split(declaration);
  declaration
      .parameter("items", options_.items,
                 "number of garments, distributed over fourteen categories")
      .range(2, 1'000'000);
  declaration.parameter("colours", options_.colours, "number of colourways of each garment")
      .range(1, 12);
  declaration.parameter("views", options_.views, "number of photographs of each colourway")
      .range(1, 60);
  declaration.parameter("size", options_.size, "side of the images").range(32, 1024).unit("px");
  declaration
      .parameter("test_share", options_.test_share,
                 "fraction of the garments that are in query and gallery instead of train")
      .range(0, 1);
  declaration.parameter("seed", options_.seed, "seed of the wardrobe");
  declaration
      .parameter("threads", threads_, "number of threads that draw; the images do not depend on it")
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
