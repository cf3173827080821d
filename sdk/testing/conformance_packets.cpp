// Checks how a stage handles its packets.

#include <algorithm>

#include "conformance_trial.hpp"

namespace seam::testing::checks {
namespace {

/// Whether one is a copy of the other, possibly on a different device.
bool equal_slots(const Packet::Slot& a, const Packet::Slot& b) {
  return a.type->name == b.type->name && a.type->equal != nullptr &&
         a.type->equal(a.value.get(), b.value.get());
}

/// Compares a packet of a transform or sampler with the received one.
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
    } else if (before->value != slot.value && !equal_slots(*before, slot)) {
      findings.push_back("it changes field '" + std::string(slot.name) +
                         "' without declaring that it provides it: d.provides(...)");
    }
  }
}

/// Advice for the case that all packets are dropped.
std::string why_dropped(const std::vector<Dropped>& drops) {
  if (drops.empty()) return {};
  return ": " + std::to_string(drops.size()) +
         (drops.size() == 1 ? " packet was" : " packets were") + " dropped (" +
         drops.front().reason +
         "); give the example packets or parameters for which the stage has an output. Generated "
         "images have 16 x 12 pixels and 3 channels";
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
                           "' is required: set it in the example's " +
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
      trial->push_all(inputs);  // copies: they share the fields' values until one is changed
    }
    trial->finish();
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      if (const auto found = difference(as_they_were[at], inputs[at])) {
        findings.push_back(
            "it modifies a packet's value in place, although other packets may share it: " +
            *found + "; create a new value and set it");
      }
    }
    for (const Error& error : trial->errors()) findings.push_back(error.full_message());
    if (!trial->errors().empty()) {
      for (const std::string& name : trial.taken_away()) {
        findings.push_back(
            "field '" + name +
            "' was removed from the example packets because the stage does not declare that it "
            "reads it; if it does, add d.needs(...) or d.accepts(...)");
      }
      return;
    }
    if (trial.kind() != StageKind::sink && trial->outputs().empty()) {
      findings.push_back("the stage emits nothing for the example packets" +
                         why_dropped(trial->drops()));
    }
    for (const Packet& out : trial->outputs()) {
      if (trial.kind() == StageKind::source || description.replaces_packets) {
        compare_with_input(out, Packet(), description, findings);
        continue;
      }
      const auto in = std::ranges::find_if(
          inputs, [&](const Packet& packet) { return packet.origin() == out.origin(); });
      if (in == inputs.end()) {
        findings.push_back("a packet of " + out.origin().text() +
                           " comes out, but no packet with that origin was received; declare "
                           "replaces_packets() if each packet replaces several");
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
        complete = false;  // it does not provide `origins` of its packets
      }
    }
    // A stage that emits a packet twice samples from the received packets: those it did not draw
    // are not lost.
    const bool draws = trial.kind() == StageKind::collector && repeats(trial->outputs());
    if (!complete || draws) return;
    for (const Dropped& dropped : trial->drops()) seen.push_back(dropped.origin);
    for (const Packet& in : inputs) {
      const auto times = std::ranges::count(seen, in.origin());
      if (times == 0 && trial->errors().empty()) {
        findings.push_back(in.origin().text() + " was received, but neither emitted nor dropped");
      }
      if (times > 1) {
        findings.push_back(in.origin().text() +
                           " is accounted for more than once: it was emitted or dropped " +
                           std::to_string(times) + " times");
      }
    }
  });
}

}  // namespace seam::testing::checks
