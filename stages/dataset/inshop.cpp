#include "stages/dataset/inshop.hpp"

namespace seam::stages {

void Inshop::declare(Declaration& declaration) {
  declaration.doc(
      "Serves one split of a data set in DeepFashion's In-Shop layout, an image a packet.\n\n"
      "The partition list is checked as a whole before the first image: its count, statuses, item "
      "ids, and that no item is in both train and test.");
  declaration.parameter("root", root_, "the folder that holds 'img' and 'Eval'")
      .required()
      .folder_with({"img"});  // the list may lie elsewhere
  declaration.parameter("list", list_, "the partition list, relative to root");
  server_.declare(declaration);
  declaration.offers<CategoryNames>(*this);
  const auto expect = [&declaration](const char* parameter, std::optional<std::int64_t>& member,
                                     const char* doc) {
    declaration.parameter(parameter, member, doc).at_least(0);
  };
  expect("expect_train", expected_.train,
         "how many train images the list must have (25882 in the official one)");
  expect("expect_query", expected_.query,
         "how many query images the list must have (14218 in the official one)");
  expect("expect_gallery", expected_.gallery,
         "how many gallery images the list must have (12612 in the official one)");
}

void Inshop::open(Context& context) {
  server_.open(root_, list_, expected_, context);
}

void Inshop::begin(Context& /*context*/) {
  server_.begin();
}

More Inshop::produce(Emitter& emitter, Context& context) {
  return server_.produce(emitter, context);
}

}  // namespace seam::stages
