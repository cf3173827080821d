/// A folder in the layout of Labeled Faces in the Wild, for tests: four people, and a list of
/// pairs.
#pragma once

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {

/// Two folds of two pairs of each kind.
inline const std::string two_folds =
    "2\t2\n"
    "Ann\t1\t2\nBob\t1\t2\nAnn\t1\tBob\t1\nAnn\t2\tBob\t2\n"
    "Cid\t1\t2\nDee_Dee\t1\t3\nCid\t1\tDee_Dee\t1\nCid\t2\tDee_Dee\t2\n";

/// ROOT/lfw with the pictures, and ROOT/pairs.txt.
inline void write_faces(const TemporaryFolder& folder) {
  for (const char* file :
       {"Ann/Ann_0001.jpg", "Ann/Ann_0002.jpg", "Bob/Bob_0001.jpg", "Bob/Bob_0002.jpg",
        "Cid/Cid_0001.jpg", "Cid/Cid_0002.jpg", "Dee_Dee/Dee_Dee_0001.jpg",
        "Dee_Dee/Dee_Dee_0002.jpg", "Dee_Dee/Dee_Dee_0003.jpg"}) {
    folder.write("lfw/" + std::string(file), "pixels");
  }
  folder.write("pairs.txt", two_folds);
}

}  // namespace seam::stages
