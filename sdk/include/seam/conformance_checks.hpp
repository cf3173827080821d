// SPDX-License-Identifier: Apache-2.0
/// What every stage must do, whatever it is for; no test framework is needed here.
///
///     Candidate { make, example } ──► check ──► findings        none: the stage conforms
///
/// <seam/conformance.hpp> makes GoogleTest cases of these checks; that is the header to include.
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

/// How to use a stage, as far as its declaration does not say it. All parts may be left out where
/// the stage can do without.
struct Example {
  using Parameters = std::map<std::string, Value>;

  /// Tells the suites of one stage apart, where it has several.
  std::string name = {};

  /// Set before the stage is opened.
  Parameters parameters = {};
  /// The packets of one flow; by default made_up_packets(). A fresh set each time it is called, all
  /// of which the stage must be able to work on.
  std::function<std::vector<Packet>(Harness& harness)> packets = {};
  /// Binds references and upstream stages; what it returns lives as long as the harness.
  std::function<std::shared_ptr<void>(Harness&)> connect = {};
  /// Whether the stage's flow trains; without a value, the checks use both kinds
  /// of flow, or only training if the stage declares trains().
  std::optional<bool> training = {};
  /// Parameters that the stage must refuse by itself, when they are set or when it is opened.
  std::vector<Parameters> refused = {};

  /// Values that show what a parameter does: for lists, texts and paths, and for other parameters
  /// if the values that the check finds by itself (the other choices, half, double, one more) do
  /// not.
  Parameters second = {};
  /// Other parameters under which a parameter matters: {"nesterov", {{"momentum", 0.9}}}.
  std::map<std::string, Parameters> given = {};
  /// Parameters whose effect an example cannot show, each with the reason.
  std::map<std::string, std::string> without_effect = {};
};

/// A stage type under test.
struct Candidate {
  std::string name;
  std::function<std::unique_ptr<Stage>()> make;
  Example example;
  /// Where it is to compute, and what puts a packet's tensors there; the suite of this file knows
  /// none.
  std::string device = "cpu";
  std::function<void(Packet&)> move_to_device = {};
  /// What an optimizer sees of the stage after a flow with these outputs; empty without LibTorch.
  std::function<Archive(Stage& stage, const std::vector<Packet>& outputs)> weights = {};
};

/// Six packets for a stage that needs fields of the SDK's own types: pictures of 16 x 12 pixels,
/// texts, numbers from 0, the role `single`, lists of these with one to three rows. Throws
/// seam::Error that names the first field whose type it cannot make up.
SEAM_EXPORT std::vector<Packet> made_up_packets(const Description& description);

/// What is wrong, a sentence each.
using Findings = std::vector<std::string>;

struct Check {
  std::string_view name;  ///< a sentence as GoogleTest wants names: "EndsAnEmptyFlow"
  Findings (*run)(const Candidate& candidate);
};

/// All checks, in an order in which the first to fail explains most.
///
///     DescribesItself         names, texts, defaults, contracts; the same parameters each time
///     RefusesBadParameters    wrong types, values out of range, unknown names: a message each
///     WorksOnItsExample       no errors; only declared fields are read and written; what comes
///                             out keeps its contracts, and all fields of a batch have the same
///                             number of rows
///     AccountsForEveryPacket  each comes out once, or is dropped with a reason; for a collector
///                             that replaces packets, where it provides `origins`
///     EndsAnEmptyFlow         begin and end without a packet
///     EndsOnce                nothing that a flow held back is left for the next one, except what
///                             save() writes
///     GivesTheSameBytes       again, and for any number of threads; fields that compare
///     KeepsItsState           what save() writes load() takes back, and it goes on the same
///     OwnsUpToLabels          a transform that can do without categories or items gives the same
///                             with others in evaluation, whatever the example says, or declares
///                             that it reads them; if the example's packets have them
///     IsCancelledAnywhere     closed before, in and after a flow
///     EachParameterMatters    another value changes what comes out, metrics, reports, state, files
///                             in the run directory or the declaration, or is refused. In suites
///                             with a name: only parameters that `second` or `given` lists
///
/// The checks run flows that train and flows that evaluate, as far as Example::training allows.
SEAM_EXPORT std::span<const Check> conformance_checks();

/// One whole life of the stage, as the check of the process's end needs it.
SEAM_EXPORT void live_once(const Candidate& candidate);

}  // namespace seam::testing
