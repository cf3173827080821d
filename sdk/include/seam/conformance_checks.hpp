// SPDX-License-Identifier: Apache-2.0
/// The requirements of every stage; no test framework is needed here.
///
///     Candidate { make, example } ──► check ──► findings        none: the stage conforms
///
/// <seam/conformance.hpp> turns these checks into GoogleTest cases; include that header.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "seam/testing.hpp"

namespace seam::testing {

/// Everything that a test needs to run a stage in addition to its declaration. Every member is
/// optional unless the stage requires it.
struct Example {
  using Parameters = std::map<std::string, Value>;

  /// Name of this suite, if a stage has several.
  std::string name = {};

  /// Set before the stage is opened.
  Parameters parameters = {};
  /// The packets of one flow; default: made_up_packets(). Each call returns a new set. The stage
  /// must be able to process all packets.
  std::function<std::vector<Packet>(Harness& harness)> packets = {};
  /// Binds references and upstream stages; its result lives as long as the harness.
  std::function<std::shared_ptr<void>(Harness&)> connect = {};
  /// Whether the stage's flow trains; without a value, the checks use both kinds
  /// of flow, or only training if the stage declares trains().
  std::optional<bool> training = {};
  /// Parameters that the stage itself must reject, when they are set or when it is opened.
  std::vector<Parameters> refused = {};

  /// Values that show what a parameter does: for lists, strings and paths, and for other parameters
  /// if the values that the check tries (other choices, half, double, one more) do not.
  Parameters second = {};
  /// Other parameters that a parameter needs to have an effect: {"nesterov", {{"momentum", 0.9}}}.
  std::map<std::string, Parameters> given = {};
  /// Parameters whose effect an example cannot show, each with the reason.
  std::map<std::string, std::string> without_effect = {};
};

/// A setting of a thread on which the stages after this one rely.
struct ThreadSetting {
  std::string name;
  std::string value;
  std::string advice;  ///< what a stage should do instead of changing it
};

/// A stage type under test.
struct Candidate {
  std::string name;
  std::function<std::unique_ptr<Stage>()> make;
  Example example;
  /// Device to compute on, and the function that moves a packet's tensors there; not used without
  /// LibTorch.
  std::string device = "cpu";
  std::function<void(Packet&)> move_to_device = {};
  /// The stage's weights and gradients as an optimizer sees them after a flow with these outputs;
  /// empty without LibTorch.
  std::function<Archive(Stage& stage, const std::vector<Packet>& outputs)> weights = {};
  /// LibTorch's settings of the calling thread; empty without LibTorch.
  std::function<std::vector<ThreadSetting>()> thread_settings = {};
};

/// Six packets for a stage that needs fields of the SDK's own types: images of 16 x 12 pixels,
/// strings, numbers from 0, the role `single`, lists of these with one to three rows. Throws
/// seam::Error with the first field whose type it cannot generate.
SEAM_EXPORT std::vector<Packet> made_up_packets(const Description& description);

/// One sentence per problem found.
using Findings = std::vector<std::string>;

struct Check {
  std::string_view name;  ///< a sentence in GoogleTest's form: "EndsAnEmptyFlow"
  Findings (*run)(const Candidate& candidate);
};

/// All checks, ordered so that the first failure explains the most.
///
///     DescribesItself         names, texts, defaults, contracts; the same parameters each time
///     RefusesBadParameters    wrong types, values out of range, unknown names: a message for each
///     WorksOnItsExample       no errors; only declared fields are read and written; what comes
///                             out keeps its contracts, and all fields of a batch have the same
///                             number of rows
///     AccountsForEveryPacket  each is emitted once or dropped with a reason; for a collector
///                             that replaces packets, only if it provides `origins`
///     LeavesItsThreadAsItWas  no call leaves LibTorch's gradient mode or number of threads changed
///     EndsAnEmptyFlow         begins and ends without a packet
///     EndsOnce                nothing of a flow is left over for the next one, except the state
///                             that save() writes
///     GivesTheSameBytes       in a second run and for any number of threads; comparable fields. A
///                             network that can compute in lanes, also in two with each
///                             LaneMemory, and in two that two ranks share out
///     KeepsItsState           load() restores what save() writes, and the results are the same
///     OwnsUpToLabels          a transform that does not need categories or items gives the same
///                             results with different ones in evaluation, whatever the example
///                             says, or declares that it reads them; if the packets have them
///     IsCancelledAnywhere     closed before, in and after a flow
///     EachParameterMatters    a different value changes outputs, metrics, reports, state, files
///                             in the run folder or the declaration, or is rejected. In suites
///                             with a name: only parameters listed in `second` or `given`
///
/// The checks run flows that train and flows that evaluate, as far as Example::training allows.
SEAM_EXPORT std::span<const Check> conformance_checks();

/// One complete lifetime of the stage, for the check of the process's end.
SEAM_EXPORT void live_once(const Candidate& candidate);

}  // namespace seam::testing
