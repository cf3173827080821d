#include "seam/runner.hpp"

#include <algorithm>
#include <exception>

#include "running_call.hpp"
#include "stack_frames.hpp"
#include "undeclared_writes.hpp"
#include "wrong_device.hpp"

namespace seam {
namespace {

Value list_of_one(ValueKind kind, const Value& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  const auto* text = std::get_if<std::string>(&value);
  if (integer != nullptr && (kind == ValueKind::integers || kind == ValueKind::numbers)) {
    return std::vector<std::int64_t>{*integer};
  }
  if (number != nullptr && kind == ValueKind::numbers) return std::vector<double>{*number};
  if (text != nullptr && (kind == ValueKind::texts || kind == ValueKind::enumerations)) {
    return std::vector<std::string>{*text};
  }
  return value;
}

}  // namespace

struct Outcome::Detail {
  Kind kind;
  std::string reason;
  std::optional<Error> error;
};

Outcome Outcome::dropped(std::string reason) {
  Outcome outcome;
  outcome.detail_ =
      std::make_shared<const Detail>(Detail{Kind::dropped, std::move(reason), std::nullopt});
  return outcome;
}

Outcome Outcome::failed(Error error) {
  Outcome outcome;
  std::string reason = error.what();
  outcome.detail_ =
      std::make_shared<const Detail>(Detail{Kind::failed, std::move(reason), std::move(error)});
  return outcome;
}

Outcome::Kind Outcome::kind() const {
  return detail_ ? detail_->kind : Kind::delivered;
}
const std::string& Outcome::reason() const {
  return detail_->reason;
}
const Error& Outcome::error() const {
  return *detail_->error;
}

StageRunner::StageRunner(std::string name, std::string type, std::unique_ptr<Stage> stage)
    : name_(std::move(name)),
      type_(std::move(type)),
      stream_(stream_of(name_)),
      stage_(std::move(stage)) {
  guarded_or_throw("declaring its parameters and fields", [&] { stage_->declare(declaration_); });
}

StageRunner::~StageRunner() = default;

namespace {

constexpr std::string_view one_count =
    "the fields of one batch must have the same number of rows, but ";

/// Most packets have no rows, and this check avoids counting for them.
inline bool has_rows(const Packet& packet) {
  for (const Packet::Slot& slot : packet.slots()) {
    if (slot.by_row) return true;
  }
  return false;
}

// Number of packets per flow that are checked for undeclared writes. A stage that does this to one
// packet does it to others as well, and checking all packets would take time.
constexpr std::uint64_t watched_packets = 8;

/// Branches may each be correct and still not match: such a packet is not passed to a stage.
[[gnu::noinline]] void count_rows_before(const std::string& stage, const Packet& packet) {
  const std::string mismatch = packet.row_mismatch();
  if (mismatch.empty()) return;
  throw Error("the branches that join before stage '" + stage +
                  "' have different numbers of rows: " + std::string(one_count) + mismatch +
                  "; a branch that adds or removes rows cannot be joined with one that keeps them",
              Fault::configuration);
}

bool is_by_row(const FieldInfo& field) {
  return !field.contract.empty() && Field<std::int64_t>{field.name, field.contract}.by_row();
}

/// Packet::row_mismatch, including fields whose N is only in the stage's declaration, not in their
/// key.
std::string row_mismatch(const Packet& packet, const std::vector<FieldInfo>& provided) {
  std::optional<Packet> marked;
  for (const FieldInfo& field : provided) {
    if (!is_by_row(field)) continue;
    const auto slot = std::ranges::find(packet.slots(), field.name, &Packet::Slot::name);
    if (slot == packet.slots().end() || slot->by_row) continue;
    if (!marked) marked = packet;  // copies only handles
    Packet::Slot by_row = *slot;
    by_row.by_row = true;
    marked->put(std::move(by_row));
  }
  if (marked) return marked->row_mismatch();
  return packet.row_mismatch();
}

}  // namespace

template <class Body>
Outcome StageRunner::guarded(std::string_view doing, const Packet* packet, Body&& body) const {
  const auto failed = [&](Error error) {
    if (packet != nullptr) error.while_doing("working on " + packet->origin().text());
    error.while_doing(std::string(doing) + " in stage '" + name_ + "' (" + type_ + ")");
    return Outcome::failed(std::move(error));
  };
  try {
    const host::RunningCall call(name_, type_, doing, packet);
    return body();
  } catch (...) {  // a plugin may throw anything; no exception may reach the graph
    return failed(caught_error());
  }
}

template <class Body>
void StageRunner::guarded_or_throw(std::string_view doing, Body&& body) const {
  const Outcome outcome = guarded(doing, nullptr, [&] {
    body();
    return Outcome::delivered();
  });
  if (!outcome) throw outcome.error();
}

void StageRunner::configure(const Values& values) {
  Description& description = declaration_.description();
  for (const auto& [name, value] : values) {
    const auto found = std::ranges::find(description.parameters, name, &ParameterInfo::name);
    if (found == description.parameters.end() || !found->assign) {
      throw Error("stage '" + name_ + "' (" + type_ + ") has no parameter '" + name + "'",
                  Fault::configuration);
    }
    const Value fitted = list_of_one(found->kind, value);
    if (const auto problem = problem_with(*found, fitted)) {
      throw Error("parameter '" + name + "' of stage '" + name_ + "': " + *problem + "; it takes " +
                      accepted_by(*found),
                  Fault::configuration);
    }
    set_[name] = fitted;
  }
  const auto preset = std::ranges::find(description.parameters, true, &ParameterInfo::is_preset);
  for (ParameterInfo& parameter : description.parameters) {
    if (!parameter.preset_defaults.empty() && preset != description.parameters.end()) {
      // Kept, because a later call may choose the first preset again.
      parameter.preset_defaults.emplace(std::get<std::string>(*preset->default_value),
                                        parameter.default_value);
    }
    parameter.default_value = default_of(parameter, description, set_);
  }
  for (const bool presets : {true, false}) {  // what the file sets overrides its preset
    for (const ParameterInfo& parameter : description.parameters) {
      const auto set = set_.find(parameter.name);
      if (set != set_.end() && parameter.is_preset == presets) parameter.assign(set->second);
    }
  }
  // Contracts may depend on the new values. Parameters keep their defaults.
  Declaration again;
  guarded_or_throw("declaring its parameters and fields", [&] { stage_->declare(again); });
  static_cast<Configured&>(description) = std::move(again.description());
}

void StageRunner::forget_initial() {
  for (const ParameterInfo& parameter : description().parameters) {
    if (parameter.initial && parameter.default_value) parameter.assign(*parameter.default_value);
  }
}

void* StageRunner::interface(std::string_view name) const {
  for (const OfferedInterface& offered : description().offers) {
    if (offered.interface == name) return offered.target;
  }
  return nullptr;
}

void StageRunner::bind(std::string_view parameter, void* target) {
  for (const ParameterInfo& info : description().parameters) {
    if (info.name == parameter && info.bind) return info.bind(target);
  }
  throw Error("stage '" + name_ + "' has no reference '" + std::string(parameter) + "'",
              Fault::configuration);
}

void StageRunner::bind_upstream(const std::vector<StageRunner*>& before) {
  providers_.clear();
  for (const StageRunner* runner : before) {
    for (const FieldInfo& field : runner->description().provides) {
      providers_[field.name] = "stage '" + runner->name_ + "' (" + runner->type_ + ")";
    }
  }
  for (const UpstreamReference& reference : description().upstream) {
    reference.clear();
    for (const StageRunner* runner : before) {
      if (void* target = runner->interface(reference.interface)) reference.add(target);
    }
  }
}

void StageRunner::open(const RunState& run) {
  for (const ParameterInfo& parameter : description().parameters) {
    if (!set_.contains(parameter.name)) continue;
    if (const auto problem = without_effect(parameter, description(), set_)) {
      throw Error("parameter '" + parameter.name + "' of stage '" + name_ + "' " + *problem,
                  Fault::configuration);
    }
  }
  guarded_or_throw("opening", [&] {
    Context context = this->context(run);
    stage_->enter_thread(context);
    const auto around = stage_->around_call(context);
    stage_->open(context);
  });
}

void StageRunner::begin(const RunState& run) {
  guarded_or_throw("starting a flow", [&] {
    Context context = this->context(run);
    const auto around = stage_->around_call(context);
    stage_->begin(context);
  });
}

StageRunner::Standing StageRunner::pause(const RunState& run) {
  Standing standing;
  guarded_or_throw("pausing a flow", [&] {
    Context context = this->context(run);
    const auto around = stage_->around_call(context);
    standing.pause = stage_->pause(context);
    standing.held_from = context.held_from();
  });
  return standing;
}

void StageRunner::close() {
  guarded_or_throw("closing", [&] { stage_->close(); });
}

Archive StageRunner::save() const {
  Archive archive;
  guarded_or_throw("saving its state", [&] { stage_->save(archive); });
  return archive;
}

void StageRunner::load(const Archive& archive) {
  guarded_or_throw("loading its saved state", [&] { stage_->load(archive); });
}

void StageRunner::enter_thread(const RunState& run) const {
  const Context context = this->context(run);
  stage_->enter_thread(context);
}

Outcome StageRunner::produce(const RunState& run, Emitter& emitter, More& more) {
  more = More::no;
  return guarded("producing packets", nullptr, [&] {
    Context context = this->context(run);
    const auto around = stage_->around_call(context);
    more = static_cast<Source&>(*stage_).produce(emitter, context);
    return Outcome::delivered();
  });
}

void StageRunner::interrupt() const {
  // The outcome is not needed: the run is ending, and produce() reports the error.
  (void)guarded("interrupting", nullptr, [&] {
    static_cast<Source&>(*stage_).interrupt();
    return Outcome::delivered();
  });
}

/// Runs `body`, which calls the stage and returns the packet as the stage left it, or nullptr if
/// the stage has taken it. Checks the first packets of a flow for undeclared writes. `named`: has
/// the origin for errors.
template <class Body>
Outcome StageRunner::watched(std::string_view doing, const RunState& run, const Packet& packet,
                             const Packet& named, Body&& body) const {
  std::optional<host::WriteWatch> watch;
  if (packet.sequence() < watched_packets && !description().trains) {
    Outcome prepared = guarded(doing, &named, [&] {
      watch.emplace(packet, description());
      return Outcome::delivered();
    });
    if (!prepared) return prepared;
  }
  const Packet* after = nullptr;
  Outcome outcome = guarded(doing, &named, [&] {
    try {
      return body(after);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      const std::string problem = host::wrong_device(named, description(), providers_, run.device,
                                                     host::without_frames(error.what()));
      if (problem.empty()) throw;
      throw Error(problem, Fault::internal);
    }
  });
  if (!outcome || !watch) return outcome;
  return guarded("checking the fields it wrote", &named, [&] {
    const std::string problem = watch->problem(after);
    if (problem.empty()) return Outcome::delivered();
    return broken(problem);
  });
}

Outcome StageRunner::broken(const std::string& problem) const {
  broke_declaration_ = true;
  throw Error("stage '" + name_ + "' breaks its declaration: " + problem, Fault::internal);
}

Outcome StageRunner::transform(const RunState& run, Packet& packet) {
  const std::uint64_t sequence = packet.sequence();
  return watched("processing a packet", run, packet, packet, [&](const Packet*& after) {
    after = &packet;
    if (has_rows(packet)) count_rows_before(name_, packet);
    Context context = this->context(run);
    const auto around = stage_->around_call(context);
    if (kind() == StageKind::parallel_transform) {
      static_cast<const ParallelTransform&>(*stage_).process(packet, context);
    } else {
      static_cast<Transform&>(*stage_).process(packet, context);
    }
    packet.set_sequence(sequence);  // belongs to the host
    return context.dropped() ? Outcome::dropped(context.drop_reason()) : check_provided(packet);
  });
}

Outcome StageRunner::collect(const RunState& run, Packet packet, Emitter& emitter) {
  const Packet origin_only(packet.origin());
  return watched("collecting a packet", run, packet, origin_only, [&](const Packet*&) {
    if (has_rows(packet)) count_rows_before(name_, packet);
    Context context = this->context(run);
    const auto around = stage_->around_call(context);
    static_cast<Collector&>(*stage_).process(std::move(packet), emitter, context);
    return context.dropped() ? Outcome::dropped(context.drop_reason()) : Outcome::delivered();
  });
}

Outcome StageRunner::consume(const RunState& run, const Packet& packet) {
  return watched("consuming a packet", run, packet, packet, [&](const Packet*&) {
    if (has_rows(packet)) count_rows_before(name_, packet);
    Context context = this->context(run);
    const auto around = stage_->around_call(context);
    static_cast<Sink&>(*stage_).process(packet, context);
    return context.dropped() ? Outcome::dropped(context.drop_reason()) : Outcome::delivered();
  });
}

Outcome StageRunner::finish(const RunState& run, Emitter* emitter, More& more) {
  more = More::no;
  return guarded("ending a flow", nullptr, [&] {
    Context context = this->context(run);
    const auto around = stage_->around_call(context);
    switch (kind()) {
      case StageKind::transform:
        static_cast<Transform&>(*stage_).end(context);
        break;
      case StageKind::parallel_transform:
        static_cast<ParallelTransform&>(*stage_).end(context);
        break;
      case StageKind::sink:
        static_cast<Sink&>(*stage_).end(context);
        break;
      case StageKind::collector:
        more = static_cast<Collector&>(*stage_).end(*emitter, context);
        break;
      case StageKind::source:
        break;
    }
    return Outcome::delivered();
  });
}

Outcome StageRunner::check_provided(const Packet& packet) const {
  for (const FieldInfo& field : description().provides) {
    const auto slot = std::ranges::find(packet.slots(), field.name, &Packet::Slot::name);
    std::string problem;
    if (slot == packet.slots().end()) {
      problem = "it is missing";
    } else if (slot->type->name != field.type) {
      problem =
          "it is of type " + readable_type(slot->type->name) + ", not " + readable_type(field.type);
    } else if (!field.contract.empty()) {
      problem = slot->type->violation(slot->value.get(), field.contract);
    }
    if (!problem.empty()) {
      return guarded("checking what it provides", &packet, [&]() -> Outcome {
        throw Error("stage '" + name_ + "' declares that it provides field '" + field.name + "'" +
                        (field.contract.empty() ? "" : " as " + field.contract) + ", but " +
                        problem,
                    Fault::internal);
      });
    }
  }
  const bool made_here = kind() == StageKind::source || description().replaces_packets;
  if (made_here && packet.sequence() < watched_packets) {
    const std::string problem = host::undeclared_fields(packet, description());
    if (!problem.empty()) {
      return guarded("checking the fields it wrote", &packet, [&] { return broken(problem); });
    }
  }
  return check_rows(packet);
}

Outcome StageRunner::check_rows(const Packet& packet) const {
  if (!has_rows(packet)) {
    const auto& provided = description().provides;
    if (std::ranges::none_of(provided, is_by_row)) return Outcome::delivered();
  }
  const std::string mismatch = row_mismatch(packet, description().provides);
  if (mismatch.empty()) return Outcome::delivered();
  return guarded("checking what it provides", &packet, [&]() -> Outcome {
    throw Error("stage '" + name_ + "': " + std::string(one_count) + mismatch, Fault::internal);
  });
}

}  // namespace seam
