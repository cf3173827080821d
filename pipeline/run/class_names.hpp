/// What the classes of trained networks are called: kept with their weights, and compared where
/// these are imported. A network that tells 23 categories apart gives numbers also for data whose
/// categories are others, and nothing in a tensor shows it.
///
///     data set ── CategoryNames ──► network ──► checkpoint's metadata: seam.classes
///                                                     │ weights = RUN
///     other data set ─────────────► network ◄─────────┘ refused, by name
///
/// A network's classes are the data's categories where its stage asks for CategoryNames and
/// provides `class_lengths` or `logits`, as stages of Seam's own and of plugins do.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace seam::host {

struct CheckedPipeline;

/// By stage; those of which nothing is known are left out.
using ClassNames = std::map<std::string, std::vector<std::string>>;

/// Of the networks that training flows train: the categories of the data before them there. None
/// where it has no names, or data sets of one network disagree. The stages must be open.
[[nodiscard]] ClassNames trained_classes(const CheckedPipeline& pipeline);

/// As the value of metadata, {"model":["coat","hat"]}; names are percent-encoded where they are not
/// ASCII.
[[nodiscard]] std::string text_of(const ClassNames& classes);
/// Takes that back. Throws seam::Error for another text.
[[nodiscard]] ClassNames class_names_from(const std::string& text);

/// How these names contradict the data of a flow in which the stage is trained, or in which some
/// stage needs the field `categories`, as a clause: "class 1 is 'coat' there and 'dress' in flow
/// 'train'". Where one list goes on after the other's end, they do not.
[[nodiscard]] std::optional<std::string> contradiction(const CheckedPipeline& pipeline,
                                                       const std::string& stage,
                                                       const std::vector<std::string>& names);

/// Compares what stages import by `weights` with the data; the stages must be open. Throws
/// seam::Error (configuration) that names the stage and the first class that differs. A stage with
/// `skip` is warned of in the result instead: what it skips may be all that depends on classes.
[[nodiscard]] std::vector<std::string> check_imported_classes(const CheckedPipeline& pipeline);

}  // namespace seam::host
