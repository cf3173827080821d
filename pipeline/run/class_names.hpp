/// Class names of trained networks, stored with their weights and compared when these are imported.
/// A network that distinguishes 23 categories also gives results for data with different
/// categories, and its tensors do not show the mistake.
///
///     data set ── CategoryNames ──► network ──► checkpoint's metadata: seam.classes
///                                                     │ weights = RUN
///     other data set ─────────────► network ◄─────────┘ rejected by name
///
/// A network's classes are the categories of the data if its stage requests CategoryNames and
/// provides `class_lengths` or `logits`, as stages of Seam and of plugins do.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace seam::host {

struct CheckedPipeline;

/// By stage; stages with unknown classes are omitted.
using ClassNames = std::map<std::string, std::vector<std::string>>;

/// For the networks that training flows train: the categories of the data before them in these
/// flows. A network is omitted if its data has no names, or if its data sets disagree. The stages
/// must be open.
[[nodiscard]] ClassNames trained_classes(const CheckedPipeline& pipeline);

/// As a value of the metadata, {"model":["coat","hat"]}; non-ASCII names are percent-encoded.
[[nodiscard]] std::string text_of(const ClassNames& classes);
/// Parses such a text. Throws seam::Error if it is invalid.
[[nodiscard]] ClassNames class_names_from(const std::string& text);

/// How these names contradict the data of a flow in which the stage is trained, or in which some
/// stage needs the field `categories`, as a clause: "class 1 is 'coat' there (2 classes) and
/// 'dress' in the data of flow 'train' (3 classes)". A longer list with the same beginning is not a
/// contradiction.
[[nodiscard]] std::optional<std::string> contradiction(const CheckedPipeline& pipeline,
                                                       const std::string& stage,
                                                       const std::vector<std::string>& names);

/// Compares the classes that a checkpoint's networks were trained on with the data; the stages must
/// be open. Throws seam::Error (configuration) that names the stage and the first class that
/// differs.
void refuse_other_classes(const CheckedPipeline& pipeline, const ClassNames& trained);

/// Compares the weights that stages import by `weights` with the data; the stages must be open.
/// Throws seam::Error (configuration) that names the stage and the first class that differs. For a
/// stage with `skip`, returns a warning instead: it may skip all class-dependent weights.
[[nodiscard]] std::vector<std::string> check_imported_classes(const CheckedPipeline& pipeline);

}  // namespace seam::host
