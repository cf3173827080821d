#include "stages/dataset/inshop.hpp"

namespace seam::stages {

void Inshop::declare(Declaration& declaration) {
  declaration.doc(
      "Serves one split of a data set in DeepFashion's In-Shop layout, one image per "
      "packet.\n\nThe whole partition list is checked before the first image is served: its count, "
      "statuses, item ids, and that no item is in both train and test.");
  declaration.parameter("root", root_, "the folder that holds 'img' and 'Eval'")
      .required()
      .folder_with({"img"});  // the list may be elsewhere
  declaration.parameter("list", list_, "the partition list, relative to root").must_exist("root");
  server_.declare(declaration);
  declaration.offers<CategoryNames>(*this);
  declaration.offers<PublishedLists>(server_);
  SplitServer::declare_counts(declaration, expected_);
}

void Inshop::open(Context& context) {
  server_.open(root_, list_, expected_, context);
  server_.tell_difference(context);
}

void Inshop::begin(Context& /*context*/) {
  server_.begin();
}

More Inshop::produce(Emitter& emitter, Context& context) {
  return server_.produce(emitter, context);
}

}  // namespace seam::stages
