/// Landmarks and attributes of a batch: those of the data set, by `carry` of the stage batch, and
/// those that a network predicts.
///
///     carry = ["landmarks as true_landmarks", "visibility as true_visibility",
///              "attributes as true_attributes"]
#pragma once

#include <seam/tensor.hpp>

namespace seam::field {

/// The `landmarks` of each picture: x and y in pixels of `images`.
inline constexpr Field<Tensor> true_landmarks{"true_landmarks", "f32[N,8,2]"};
/// The `visibility` of each picture's landmarks, 0 to 3.
inline constexpr Field<Tensor> true_visibility{"true_visibility", "i64[N,8]"};
/// The `attributes` of each picture, 0 to 2.
inline constexpr Field<Tensor> true_attributes{"true_attributes", "u8[N,A]"};
/// x as a fraction of the images' width and y of their height: the centre of the first of 10 pixels
/// is at 0.05.
inline constexpr Field<Tensor> predicted_landmarks{"predicted_landmarks", "f32[N,8,2]"};
/// Of visible, occluded, cut off and none, before a softmax.
inline constexpr Field<Tensor> visibility_logits{"visibility_logits", "f32[N,8,4]"};
/// Of each attribute, before a sigmoid.
inline constexpr Field<Tensor> attribute_logits{"attribute_logits", "f32[N,A]"};

}  // namespace seam::field
