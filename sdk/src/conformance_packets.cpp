// What becomes of the packets that a stage is given.

#include <algorithm>

#include "conformance_trial.hpp"

namespace seam::testing::checks {
namespace {

/// Whether one is a copy of the other, on another device perhaps.
bool same_value(const Packet::Slot& a, const Packet::Slot& b) {
  return a.type->name == b.type->name && a.type->equal != nullptr &&
         a.type->equal(a.value.get(), b.value.get());
}

/// A transform's or sampler's packet beside the one that it was.
void compare_with_input(const Packet& out, const Packet& in, const Description& description,
                        Findings& findings) {
  for (const Packet::Slot& slot : out.slots()) {
    if (find_field(description.provides, slot.name) != nullptr) continue;
    if (std::ranges::find(description.gathers, slot.name, &GatheredField::name) !=
        description.gathers.end()) {
      continue;
    }
    const Packet::Slot* before = find_slot(in, slot.name);
    if (before == nullptr) {
      findings.push_back("it adds field '" + std::string(slot.name) +
                         "' without declaring that it provides it: d.provides(...)");
    } else if (before->value != slot.value && !same_value(*before, slot)) {
      findings.push_back("it changes field '" + std::string(slot.name) +
                         "' without declaring that it provides it: d.provides(...)");
    }
  }
}

/// What to do where all that was put in is dropped.
std::string why_dropped(const std::vector<Dropped>& drops) {
  if (drops.empty()) return {};
  return ": " + std::to_string(drops.size()) +
         (drops.size() == 1 ? " packet was" : " packets were") + " dropped (" +
         drops.front().reason +
         "); give the example packets or parameters for which the stage has an output. Made-up "
         "pictures have 16 x 12 pixels and 3 channels";
}

bool repeats(const std::vector<Packet>& packets) {
  for (std::size_t at = 0; at < packets.size(); ++at) {
    for (std::size_t before = 0; before < at; ++before) {
      if (packets[at].origin() == packets[before].origin()) return true;
    }
  }
  return false;
}

}  // namespace

Findings works_on_its_example(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    const Description& description = trial.description();
    for (const ParameterInfo& parameter : description.parameters) {
      if (!parameter.required) continue;
      const bool given = parameter.kind == ValueKind::reference
                             ? trial->refers(parameter.name)
                             : candidate.example.parameters.contains(parameter.name);
      if (!given) {
        findings.push_back("parameter '" + parameter.name +
                           "' is required: say it in the example's " +
                           (parameter.kind == ValueKind::reference ? "connect" : "parameters"));
      }
    }
    if (!findings.empty()) return;
    const bool source = trial.kind() == StageKind::source;
    const std::vector<Packet> inputs = source ? std::vector<Packet>() : trial.packets();
    const std::vector<Packet> as_they_were = source ? std::vector<Packet>() : trial.packets();
    if (source) {
      trial->produce(most_from_a_source);
    } else {
      trial->push_all(inputs);  // copies: the fields' values are shared until somebody changes them
    }
    trial->finish();
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      if (const auto found = difference(as_they_were[at], inputs[at])) {
        findings.push_back("it writes into a packet's value in place, which others may share: " +
                           *found + "; make a new one and set that");
      }
    }
    for (const Error& error : trial->errors()) findings.push_back(error.full_message());
    if (!trial->errors().empty()) {
      for (const std::string& name : trial.taken_away()) {
        findings.push_back("the example's packets have a field '" + name +
                           "' that was taken away, because the stage does not declare that it "
                           "reads it; if it does: d.needs(...) or d.accepts(...)");
      }
      return;
    }
    if (trial.kind() != StageKind::sink && trial->outputs().empty()) {
      findings.push_back("nothing comes out for the example" + why_dropped(trial->drops()));
    }
    for (const Packet& out : trial->outputs()) {
      if (trial.kind() == StageKind::source || description.replaces_packets) {
        compare_with_input(out, Packet(), description, findings);
        continue;
      }
      const auto in = std::ranges::find_if(
          inputs, [&](const Packet& packet) { return packet.origin() == out.origin(); });
      if (in == inputs.end()) {
        findings.push_back(
            "a packet of " + out.origin().text() +
            " comes out, but none of that origin was taken in; declare replaces_packets() "
            "where packets stand for several");
      } else {
        compare_with_input(out, *in, description, findings);
      }
    }
  });
}

Findings accounts_for_every_packet(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    if (trial.kind() == StageKind::source) {
      trial.flow();
      return;
    }
    std::vector<Packet> inputs = trial.packets();
    trial->push_all(inputs);
    trial->finish();
    for (const Dropped& dropped : trial->drops()) {
      if (dropped.reason.empty()) {
        findings.push_back(dropped.origin.text() + " is dropped without a reason");
      }
    }
    if (trial.kind() == StageKind::sink) return;
    std::vector<Origin> seen;
    bool complete = true;
    for (const Packet& out : trial->outputs()) {
      if (!trial.description().replaces_packets) {
        seen.push_back(out.origin());
      } else if (out.has(field::origins)) {
        const std::vector<Origin>& origins = out.get(field::origins);
        seen.insert(seen.end(), origins.begin(), origins.end());
      } else {
        complete = false;  // it does not say what its packets are made of
      }
    }
    // One that sends a packet on twice draws from what it took in: what it did not draw is not
    // lost.
    const bool draws = trial.kind() == StageKind::collector && repeats(trial->outputs());
    if (!complete || draws) return;
    for (const Dropped& dropped : trial->drops()) seen.push_back(dropped.origin);
    for (const Packet& in : inputs) {
      const auto times = std::ranges::count(seen, in.origin());
      if (times == 0 && trial->errors().empty()) {
        findings.push_back(in.origin().text() +
                           " was taken in, but neither came out nor was dropped");
      }
      if (times > 1) {
        findings.push_back(in.origin().text() +
                           " is accounted for more than once: it came out or was dropped " +
                           std::to_string(times) + " times");
      }
    }
  });
}

}  // namespace seam::testing::checks
