#include "stages/model/scn.hpp"

namespace seam::stages {

void Scn::declare(Declaration& d) {
  d.doc(
      "The Siamese capsule network SCNet (O'Neill 2018): a convolution, primary capsules, dynamic "
      "routing to face capsules with separate weights for each primary capsule, and a dense layer "
      "whose outputs are compared. Both images of a pair go through it as rows of one batch.");
  declare_network(d);
}

}  // namespace seam::stages
