#include "stages/model/scn.hpp"

namespace seam::stages {

void Scn::declare(Declaration& d) {
  d.doc(
      "The Siamese capsule network SCNet (O'Neill 2018): a convolution, primary capsules, dynamic "
      "routing to face capsules by weights of each primary capsule's own, and a dense layer whose "
      "numbers are compared. Both pictures of a pair go through it as rows of one batch.");
  declare_network(d);
}

}  // namespace seam::stages
