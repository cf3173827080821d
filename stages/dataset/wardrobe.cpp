#include "stages/dataset/wardrobe.hpp"

#include <string>

#include "stages/counted.hpp"

namespace seam::stages {

void Wardrobe::declare(Declaration& declaration) {
  declaration.doc(
      "Serves one split of a wardrobe: photographs of garments that Seam draws itself.\n\n"
      "Where the folder does not hold the wardrobe of these parameters, it is drawn first. Stages "
      "that serve different splits of one root need the same parameters.");
  declaration.parameter("root", root_, "the folder to draw into and to serve from");
  server_.declare(declaration);
  declaration.offers<CategoryNames>(*this);
  declaration.parameter("items", options_.items, "garments, over fourteen categories in turn")
      .range(2, 1'000'000);
  declaration.parameter("colours", options_.colours, "colourways of each garment").range(1, 12);
  declaration.parameter("views", options_.views, "photographs of each colourway").range(1, 60);
  declaration.parameter("size", options_.size, "side of the images").range(32, 1024).unit("px");
  declaration
      .parameter("test_share", options_.test_share,
                 "share of the garments that are in query and gallery, not in train")
      .range(0, 1);
  declaration.parameter("seed", options_.seed, "another seed, another wardrobe");
  declaration.parameter("threads", threads_, "threads to draw with; the images do not depend on it")
      .range(1, 256);
}

void Wardrobe::open(Context& context) {
  bool said = false;
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    if (context.stop_requested()) {
      throw Error("stopped after " + std::to_string(done) + " of " + std::to_string(total) +
                      " images were drawn; the next run draws the rest",
                  Fault::cancelled);
    }
    if (!said) {
      context.info("drawing a wardrobe of " + counted(total, "image") + " in '" + root_.string() +
                   "'");
    }
    said = true;
  };
  in_use_ = provide_wardrobe(root_, options_, threads_, progress).in_use;
  server_.open(root_, "Eval/list_eval_partition.txt", {}, context);
}

void Wardrobe::begin(Context& /*context*/) {
  server_.begin();
}

More Wardrobe::produce(Emitter& emitter, Context& context) {
  return server_.produce(emitter, context);
}

void Wardrobe::close() {
  in_use_.reset();
}

}  // namespace seam::stages
