#include "seam/conformance_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "seam/contract.hpp"

namespace seam::testing {
namespace {

constexpr std::size_t first_packets = 3;
constexpr std::size_t most_from_a_source = 64;
constexpr std::array thread_counts{1, 2, 5};
constexpr double exact_integers = 9007199254740992.0;  // 2^53

// ---------------------------------------------------------------------------------------------------
// Packets

const FieldInfo* find_field(const std::vector<FieldInfo>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &FieldInfo::name);
  return found == fields.end() ? nullptr : &*found;
}

const Packet::Slot* find_slot(const Packet& packet, std::string_view name) {
  const auto found = std::ranges::find(packet.slots(), name, &Packet::Slot::name);
  return found == packet.slots().end() ? nullptr : &*found;
}

using Names = std::set<std::string, std::less<>>;

/// Leaves the packet what the stage says that it reads, and says where it came from. Adds what it
/// takes away to `taken_away`.
Packet prepared(Packet packet, std::size_t number, const Description& description,
                Names& taken_away) {
  std::vector<std::string_view> surplus;
  for (const Packet::Slot& slot : packet.slots()) {
    const bool read = find_field(description.needs, slot.name) != nullptr ||
                      find_field(description.accepts, slot.name) != nullptr ||
                      std::ranges::find(description.gathers, slot.name, &GatheredField::from) !=
                          description.gathers.end();
    // Without needs there is nothing to be strict about: such a stage passes on whatever it gets.
    if (!read && !description.needs.empty()) surplus.push_back(slot.name);
  }
  for (const std::string_view name : surplus) {
    taken_away.emplace(name);
    packet.erase(name);
  }
  if (packet.origin().item.empty())
    packet.set_origin({nullptr, 0, "packet " + std::to_string(number)});
  return packet;
}

/// What is different, in words, or nothing.
std::optional<std::string> difference(const Packet& a, const Packet& b) {
  if (!(a.origin() == b.origin())) {
    return "comes from " + a.origin().text() + " and from " + b.origin().text();
  }
  for (const Packet::Slot& slot : a.slots()) {
    const Packet::Slot* other = find_slot(b, slot.name);
    const std::string field = "field '" + std::string(slot.name) + "' ";
    if (other == nullptr) return field + "is there only once";
    if (slot.type->name != other->type->name) return field + "changes its type";
    if (slot.type->equal != nullptr && !slot.type->equal(slot.value.get(), other->value.get())) {
      return field + "has another value";
    }
  }
  if (a.slots().size() != b.slots().size()) return "has other fields";
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------
// Trials

/// A stage in its harness, with what it refers to.
class Trial {
 public:
  explicit Trial(const Candidate& candidate, const Example::Parameters& more = {}, int threads = 1)
      : harness_(std::make_unique<Harness>(candidate.name, candidate.make())),
        candidate_(candidate),
        threads_(threads) {
    Example::Parameters parameters = candidate.example.parameters;
    for (const auto& [name, value] : more) parameters[name] = value;
    harness_->runner().configure(parameters);
    harness_->training(candidate.example.training)
        .compute_threads(threads)
        .device(candidate.device);
    if (candidate.example.connect) connected_ = candidate.example.connect(*harness_);
  }

  Harness& operator*() { return *harness_; }
  Harness* operator->() { return harness_.get(); }
  [[nodiscard]] const Description& description() { return harness_->runner().description(); }
  [[nodiscard]] StageKind kind() { return harness_->runner().kind(); }

  /// The example's packets, as far as the stage says that it reads them.
  std::vector<Packet> packets() {
    std::vector<Packet> packets = candidate_.example.packets ? candidate_.example.packets(*harness_)
                                                             : made_up_packets(description());
    for (std::size_t at = 0; at < packets.size(); ++at) {
      packets[at] = prepared(std::move(packets[at]), at, description(), taken_away_);
      if (candidate_.move_to_device) candidate_.move_to_device(packets[at]);
      for (std::size_t before = 0; before < at;
           ++before) {  // the checks tell packets apart by these
        if (!(packets[before].origin() == packets[at].origin())) continue;
        Origin origin = packets[at].origin();
        origin.item += " (packet " + std::to_string(at) + ")";
        packets[at].set_origin(std::move(origin));
      }
    }
    return packets;
  }
  /// All packets of a flow, or the first of them, without its end.
  void feed(std::size_t most = std::numeric_limits<std::size_t>::max()) {
    if (kind() == StageKind::source) {
      harness_->produce(std::min(most, most_from_a_source));
      return;
    }
    std::vector<Packet> some = packets();
    if (some.size() > most) some.resize(most);
    harness_->push_all(std::move(some), threads_);
  }
  void flow(std::int64_t epoch = 0) {
    harness_->epoch(epoch);
    feed();
    harness_->finish();
  }
  /// Fields that the example's packets had and the stage does not say that it reads.
  [[nodiscard]] const Names& taken_away() const { return taken_away_; }

 private:
  std::shared_ptr<void> connected_;  // goes after the harness, which refers to it
  std::unique_ptr<Harness> harness_;
  const Candidate& candidate_;  // the check's
  int threads_;
  Names taken_away_;
};

/// What a flow brought, to be compared with another one's.
struct Result {
  std::vector<Packet> outputs;
  std::vector<std::string> rest;  ///< drops, errors, metrics and reports, a line each
};

/// Takes what has come out so far.
Result take(Harness& harness) {
  Result result;
  for (const Dropped& dropped : harness.drops()) {
    result.rest.push_back(dropped.origin.text() + " is dropped: " + dropped.reason);
  }
  for (const Error& error : harness.errors())
    result.rest.push_back("an error: " + error.full_message());
  const bool parallel = harness.runner().kind() == StageKind::parallel_transform;
  for (const auto& [name, reported] : harness.metrics()) {
    std::vector<double> values = reported;
    if (parallel)
      std::sort(values.begin(), values.end());  // reported by whichever thread came first
    std::string line = "metric '" + name + "':";
    for (const double value : values) line += ' ' + to_text(Value{value});
    result.rest.push_back(std::move(line));
  }
  for (const Report& report : harness.reports()) {
    result.rest.push_back("report '" + report.title + "': " + report.text);
  }
  result.outputs = harness.take_outputs();
  harness.forget();
  return result;
}

std::optional<std::string> difference(const Result& a, const Result& b) {
  if (a.outputs.size() != b.outputs.size()) {
    return "the number of packets that came out was " + std::to_string(a.outputs.size()) +
           ", then " + std::to_string(b.outputs.size());
  }
  for (std::size_t at = 0; at < a.outputs.size(); ++at) {
    if (const auto found = difference(a.outputs[at], b.outputs[at])) {
      return "packet " + std::to_string(at) + " " + *found;
    }
  }
  for (std::size_t at = 0; at < std::max(a.rest.size(), b.rest.size()); ++at) {
    const std::string once = at < a.rest.size() ? a.rest[at] : "nothing";
    const std::string then = at < b.rest.size() ? b.rest[at] : "nothing";
    if (once != then) return "first " + once + "\nthen " + then;
  }
  return std::nullopt;
}

/// The check's own finding for whatever is thrown where nothing may be.
template <class Body>
void expecting_nothing_thrown(Findings& findings, const std::string& doing, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    findings.push_back(doing + ": " + error.full_message());
  } catch (const std::exception& error) {
    findings.push_back(doing + ": " + error.what());
  }
}

/// Runs `check` with a trial; whatever it throws is a finding.
template <class Body>
Findings with_trial(const Candidate& candidate, Body&& check) {
  Findings findings;
  expecting_nothing_thrown(findings, "working on the example", [&] {
    Trial trial(candidate);
    check(trial, findings);
  });
  return findings;
}

// ---------------------------------------------------------------------------------------------------
// Checks

/// As a stage's name, without a family.
bool is_name(std::string_view text) {
  return is_stage_name(text) && text.find('.') == std::string_view::npos;
}

void describe_parameter(const ParameterInfo& parameter, Findings& findings) {
  const std::string which = "parameter '" + parameter.name + "' ";
  if (!is_name(parameter.name)) {
    findings.push_back(which + "is not written in lower case, digits and underscores");
  }
  if (parameter.doc.empty()) findings.push_back(which + "has no description");
  if (parameter.default_value && !parameter.required) {
    if (const auto problem = problem_with(parameter, *parameter.default_value)) {
      findings.push_back(which + "refuses its own default: " + *problem);
    }
  }
  const bool of_choices =
      parameter.kind == ValueKind::enumeration || parameter.kind == ValueKind::enumerations;
  if (parameter.kind == ValueKind::enumeration && !parameter.default_value && !parameter.required) {
    findings.push_back(which + "has a default that is none of its choices");
  }
  if (of_choices && parameter.choices.empty()) findings.push_back(which + "has no values");
}

void describe_fields(const std::vector<FieldInfo>& fields, const std::string& what,
                     Findings& findings) {
  std::set<std::string> seen;
  for (const FieldInfo& field : fields) {
    if (!seen.insert(field.name).second) {
      findings.push_back(what + " field '" + field.name + "' twice");
    }
    if (field.contract.empty()) continue;
    expecting_nothing_thrown(findings, "the contract of field '" + field.name + "'",
                             [&] { (void)TensorContract::parse(field.contract); });
  }
}

std::vector<std::string> parameter_names(const Description& description) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : description.parameters) names.push_back(parameter.name);
  return names;
}

Findings describes_itself(const Candidate& candidate) {
  Findings findings;
  expecting_nothing_thrown(findings, "declare()", [&] {
    if (!is_stage_name(candidate.name)) {
      findings.push_back("'" + candidate.name +
                         "' is not a stage name: \"family.what_it_does\", in lower case");
    }
    StageRunner runner(candidate.name, candidate.name, candidate.make());
    const Description& description = runner.description();
    if (description.doc.empty())
      findings.push_back("declare() does not say what the stage does: d.doc(...)");
    std::set<std::string> names;
    for (const ParameterInfo& parameter : description.parameters) {
      describe_parameter(parameter, findings);
      std::vector<std::string> all = parameter.renamed_from;
      all.push_back(parameter.name);
      for (const std::string& name : all) {
        if (!names.insert(name).second)
          findings.push_back("there are two parameters '" + name + "'");
      }
    }
    describe_fields(description.needs, "it needs", findings);
    describe_fields(description.accepts, "it accepts", findings);
    describe_fields(description.provides, "it provides", findings);
    if (runner.kind() == StageKind::source &&
        !(description.needs.empty() && description.accepts.empty())) {
      findings.push_back("a source has no stage before it, but this one needs or accepts fields");
    }
    if (runner.kind() == StageKind::sink && !description.provides.empty()) {
      findings.push_back("a sink has no stage after it, but this one provides fields");
    }
    if (runner.kind() != StageKind::collector && description.replaces_packets) {
      findings.push_back("only a collector can replace packets");
    }
    if (!description.gathers.empty() && !description.replaces_packets) {
      findings.push_back("only a collector that replaces packets can gather their fields");
    }
    Declaration again;
    runner.stage().declare(again);  // the host does so after the parameters are set
    if (parameter_names(again.description()) != parameter_names(description)) {
      findings.push_back("declare() declares other parameters when it is called again");
    }
  });
  return findings;
}

/// Values that no parameter of this kind may take.
std::vector<Value> bad_values(const ParameterInfo& parameter) {
  const std::string no_choice = "no such choice";
  std::vector<Value> values;
  switch (parameter.kind) {
    case ValueKind::boolean:
      values = {std::int64_t{1}, std::string("true")};
      break;
    case ValueKind::integer:
      values = {1.5, std::string("1"), true};
      // Beyond that a double does not tell a bound from the number next to it.
      if (parameter.least && std::abs(*parameter.least) < exact_integers) {
        values.emplace_back(static_cast<std::int64_t>(*parameter.least) - 1);
      }
      if (parameter.most && std::abs(*parameter.most) < exact_integers) {
        values.emplace_back(static_cast<std::int64_t>(*parameter.most) + 1);
      }
      break;
    case ValueKind::number: {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      values = {std::string("1"), true};
      if (parameter.least && *parameter.least > -infinity) {
        values.emplace_back(std::nextafter(*parameter.least, -infinity));
      }
      if (parameter.most && *parameter.most < infinity) {
        values.emplace_back(std::nextafter(*parameter.most, infinity));
      }
      break;
    }
    case ValueKind::text:
      values = {std::int64_t{1}, false};
      if (!parameter.choices.empty()) values.emplace_back(no_choice);
      break;
    case ValueKind::path:
      values = {std::int64_t{1}, false};
      break;
    case ValueKind::enumeration:
      values = {no_choice, std::int64_t{0}};
      break;
    case ValueKind::integers:
    case ValueKind::numbers:
      values = {std::vector<std::string>{"1"}, std::string("1")};
      break;
    case ValueKind::texts:
      values = {std::vector<std::int64_t>{1}, std::int64_t{1}};
      break;
    case ValueKind::enumerations:
      values = {std::vector<std::string>{no_choice}, no_choice};
      break;
    case ValueKind::reference:
      break;
  }
  return values;
}

/// Whether the error is one for the person who wrote the file.
void expect_refusal(const Error& error, const std::string& what, Findings& findings) {
  if (error.fault() != Fault::configuration) {
    findings.push_back(
        what + " is refused, but not by an error of Fault::configuration: " + error.full_message());
  }
}

Findings refuses_bad_parameters(const Candidate& candidate) {
  Findings findings;
  const auto set = [&](const std::string& name, const Value& value) {
    const std::string what = name + " = " + to_text(value);
    try {
      StageRunner runner(candidate.name, candidate.name, candidate.make());
      runner.configure({{name, value}});
      findings.push_back(what + " is accepted");
    } catch (const Error& error) {
      expect_refusal(error, what, findings);
      if (std::string_view(error.what()).find(name) == std::string_view::npos) {
        findings.push_back(what + " is refused without its name: " + error.what());
      }
    }
  };
  expecting_nothing_thrown(findings, "setting parameters", [&] {
    const StageRunner runner(candidate.name, candidate.name, candidate.make());
    for (const ParameterInfo& parameter : runner.description().parameters) {
      for (const Value& value : bad_values(parameter)) set(parameter.name, value);
    }
    set("no_such_parameter", std::int64_t{1});
    for (const Example::Parameters& parameters : candidate.example.refused) {
      std::string what;
      for (const auto& [name, value] : parameters) {
        what += (what.empty() ? "" : ", ") + name + " = " + to_text(value);
      }
      try {
        Trial trial(candidate, parameters);
        trial->open();
        findings.push_back(what + " is accepted");
      } catch (const Error& error) {
        expect_refusal(error, what, findings);
      }
    }
  });
  return findings;
}

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

bool repeats(const std::vector<Packet>& packets) {
  for (std::size_t at = 0; at < packets.size(); ++at) {
    for (std::size_t before = 0; before < at; ++before) {
      if (packets[at].origin() == packets[before].origin()) return true;
    }
  }
  return false;
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
    bool told = true;
    for (const Packet& out : trial->outputs()) {
      if (!trial.description().replaces_packets) {
        seen.push_back(out.origin());
      } else if (out.has(field::origins)) {
        const std::vector<Origin>& origins = out.get(field::origins);
        seen.insert(seen.end(), origins.begin(), origins.end());
      } else {
        told = false;  // it does not say what its packets are made of
      }
    }
    // One that sends a packet on twice draws from what it took in: what it did not draw is not
    // lost.
    const bool draws = trial.kind() == StageKind::collector && repeats(trial->outputs());
    if (!told || draws) return;
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

Findings ends_an_empty_flow(const Candidate& candidate) {
  return with_trial(candidate, [](Trial& trial, Findings& findings) {
    for (int flow = 0; flow < 2; ++flow) trial->finish();
    for (const Error& error : trial->errors()) {
      // "There is no query" is a fine thing to say; a division by nothing is not.
      if (error.fault() != Fault::data) findings.push_back(error.full_message());
    }
  });
}

Findings ends_once(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    if (trial.description().keeps_state)
      return;  // it may well have something to say of earlier flows
    Trial fresh(candidate);
    fresh->finish();
    const Result nothing = take(*fresh);
    trial.flow();
    (void)take(*trial);
    trial->finish();
    const Result left = take(*trial);
    if (const auto found = difference(nothing, left)) {
      findings.push_back("state of one flow is left over in the next one, which is empty: " +
                         *found);
    }
  });
}

Findings gives_the_same_bytes(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    trial.flow(0);
    trial.flow(1);
    const Result once = take(*trial);
    for (const int threads : thread_counts) {
      Trial other(candidate, {}, threads);
      other.flow(0);
      other.flow(1);
      if (const auto found = difference(once, take(*other))) {
        findings.push_back("run again with " + std::to_string(threads) +
                           (threads == 1 ? " thread: " : " threads: ") + *found);
      }
    }
  });
}

/// Saves the stage and the stages before it.
std::vector<Archive> save(Harness& harness) {
  std::vector<Archive> archives{harness.runner().save()};
  for (const StageRunner* before : harness.upstream()) archives.push_back(before->save());
  return archives;
}

std::string first_difference(const Archive& a, const Archive& b) {
  for (const auto& [name, entry] : a.entries()) {
    if (!b.has(name)) return "'" + name + "' is missing";
    if (!(b.get(name) == entry)) return "'" + name + "' differs";
  }
  for (const auto& [name, entry] : b.entries()) {
    if (!a.has(name)) return "'" + name + "' is new";
  }
  return {};
}

Findings keeps_its_state(const Candidate& candidate) {
  return with_trial(candidate, [&](Trial& trial, Findings& findings) {
    trial.flow(0);
    const Result first = take(*trial);
    const std::vector<Archive> saved = save(*trial);
    if (!trial.description().keeps_state) {
      if (!saved.front().empty()) {
        findings.emplace_back("save() writes something, but declare() does not say keeps_state()");
      }
      // A resumed run begins with fresh stages.
      trial.flow(0);
      if (const auto found = difference(first, take(*trial));
          found && !candidate.example.training) {
        findings.push_back("a flow depends on the one before, but nothing is saved: " + *found);
      }
      return;
    }
    if (saved.front().empty())
      findings.emplace_back("declare() says keeps_state(), but save() writes nothing");
    trial.flow(1);
    const Result second = take(*trial);
    const std::vector<Archive> saved_at_end = save(*trial);

    Trial resumed(candidate);
    resumed->open();
    resumed->runner().load(saved.front());
    for (std::size_t at = 0; at < resumed->upstream().size(); ++at) {
      resumed->upstream()[at]->load(saved.at(at + 1));
    }
    if (!(resumed->runner().save() == saved.front())) {
      findings.push_back("after load(), save() writes something else: " +
                         first_difference(saved.front(), resumed->runner().save()));
    }
    resumed.flow(1);
    if (const auto found = difference(second, take(*resumed))) {
      findings.push_back("after load() it goes on differently: " + *found);
    }
    if (!(save(*resumed).front() == saved_at_end.front())) {
      findings.push_back("after load() and a flow its state differs: " +
                         first_difference(saved_at_end.front(), resumed->runner().save()));
    }
  });
}

Findings is_cancelled_anywhere(const Candidate& candidate) {
  Findings findings;
  const auto cancelled = [&](const std::string& when, auto&& body) {
    expecting_nothing_thrown(findings, "closed " + when, [&] {
      Trial trial(candidate);
      body(trial);
      trial->close();
    });
  };
  cancelled("when it is open", [](Trial& trial) { trial->open(); });
  cancelled("in a flow", [](Trial& trial) { trial.feed(first_packets); });
  cancelled("after a flow", [](Trial& trial) { trial.flow(); });
  cancelled("after a flow that is asked to stop", [](Trial& trial) {
    trial->services().stop = true;
    try {
      if (trial.kind() == StageKind::source) {
        trial->open();
        trial->runner().interrupt();
        trial->runner().interrupt();  // both signals of an impatient user
      }
      trial.flow();
    } catch (const Error& error) {
      if (error.fault() != Fault::cancelled) throw;  // "stopped after 1 of 4" is what was asked for
    }
  });
  return findings;
}

}  // namespace

std::span<const Check> conformance_checks() {
  static constexpr std::array checks{
      Check{"DescribesItself", &describes_itself},
      Check{"RefusesBadParameters", &refuses_bad_parameters},
      Check{"WorksOnItsExample", &works_on_its_example},
      Check{"AccountsForEveryPacket", &accounts_for_every_packet},
      Check{"EndsAnEmptyFlow", &ends_an_empty_flow},
      Check{"EndsOnce", &ends_once},
      Check{"GivesTheSameBytes", &gives_the_same_bytes},
      Check{"KeepsItsState", &keeps_its_state},
      Check{"IsCancelledAnywhere", &is_cancelled_anywhere},
  };
  return checks;
}

void live_once(const Candidate& candidate) {
  Trial trial(candidate);
  trial.flow();
}

}  // namespace seam::testing
