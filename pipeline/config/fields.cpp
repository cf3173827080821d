#include "pipeline/config/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <seam/contract.hpp>
#include <seam/error.hpp>
#include <seam/field.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "pipeline/config/flows.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

/// A field at a point of a flow.
struct Provided : FieldInfo {
  std::size_t node = 0;  ///< who provided it last
};

/// The fields after a node.
struct FieldState {
  std::map<std::string, Provided> fields;
  bool anything = false;  ///< an unknown earlier stage may have provided or changed any field
};

/// Called for each node of a flow with the fields that arrive there, before they are checked.
using Arrival = std::function<void(const FlowNode& node, const FieldState& arriving)>;

/// The size of a named dimension, and the field in which it arrives.
struct Size {
  std::int64_t size = 0;
  const Provided* field = nullptr;
};
using Sizes = std::map<std::string, Size>;  // by the dimension's name

/// Empty for an invalid contract, which check_fields() reports.
std::vector<std::string> dimensions_in(const std::string& contract) {
  try {
    if (!contract.empty()) return TensorContract::parse(contract).dimensions();
  } catch (const Error&) {
  }
  return {};
}

/// Whether a dimension has a name other than N, the batch: a stage may change the number of rows.
bool is_size_name(const std::string& dimension) {
  return dimension != "N" && std::isalpha(static_cast<unsigned char>(dimension.front())) != 0;
}

/// The contract with known sizes in place of names.
std::string with_sizes(const std::string& contract, const Sizes& sizes) {
  const auto sized = [&](const std::string& name) { return sizes.contains(name); };
  if (std::ranges::none_of(dimensions_in(contract), sized)) return contract;
  const TensorContract parsed = TensorContract::parse(contract);
  std::vector<std::string> dimensions = parsed.dimensions();
  for (std::string& dimension : dimensions) {
    if (sized(dimension)) dimension = std::to_string(sizes.at(dimension).size);
  }
  if (parsed.open_ended()) dimensions.emplace_back("...");
  return fmt::format("{}[{}]", parsed.element(), fmt::join(dimensions, ","));
}

class FieldCheck {
 public:
  FieldCheck(const FlowSpec& flow, const std::vector<StageDraft>& stages, Findings& findings,
             Arrival arrival = {})
      : flow_(flow),
        stages_(stages),
        findings_(findings),
        arrival_(std::move(arrival)),
        ancestors_(ancestors_of(flow)) {}

  void check() {
    for (std::size_t at = 0; at < flow_.nodes.size(); ++at) {
      const StageDraft& stage = stage_at(at);
      FieldState state = joined(at);
      if (arrival_) arrival_(flow_.nodes[at], state);
      if (!stage.sound) {
        state.anything = true;
      } else {
        const Description& description = stage.runner->description();
        for (const FieldInfo& field : description.needs) check_need(at, field, state, true);
        for (const FieldInfo& field : description.accepts) check_need(at, field, state, false);
        const Sizes sizes = arriving_sizes(at, description, state);
        std::vector<FieldInfo> provided = description.provides;
        for (FieldInfo& field : provided) field.contract = with_sizes(field.contract, sizes);
        const bool all_known = gather(at, state, provided);
        for (FieldInfo& field : provided) {
          const auto of = state.fields.find(field.values_of);
          if (of != state.fields.end()) field.values = of->second.values;
          if (state.anything && !field.values_of.empty()) field.values.clear();
        }
        if (description.replaces_packets) state = FieldState();
        if (!all_known) state.anything = true;
        for (const FieldInfo& field : provided) {
          if (check_type(at, field)) check_overwriting(at, field, state);
          state.fields[field.name] = {field, at};
        }
      }
      states_.push_back(std::move(state));
    }
  }

 private:
  [[nodiscard]] const StageDraft& stage_at(std::size_t node) const {
    return *find_stage(stages_, flow_.nodes[node].stage);
  }

  void report(std::string code, std::size_t at, std::string message,
              std::vector<std::string> notes = {}) {
    const FlowNode& node = flow_.nodes[at];
    notes.push_back(path_note(flow_, node));
    findings_.error(std::move(code), node.place, std::move(message), std::move(notes));
  }

  /// Adds the fields that a collector gathers from fields of any type; false if one is unknown.
  bool gather(std::size_t at, const FieldState& state, std::vector<FieldInfo>& provided) {
    bool all_known = true;
    for (const GatheredField& gathers : stage_at(at).runner->description().gathers) {
      const auto found = state.fields.find(gathers.from);
      if (found == state.fields.end() || mistyped_.contains(gathers.from)) {
        all_known = false;
        if (found != state.fields.end() || state.anything) continue;
        FieldInfo need;
        need.name = gathers.from;
        report_missing(at, need, state);
        continue;
      }
      const Provided& one = found->second;
      try {
        provided.push_back(gathered(one, gathers.name));
      } catch (const Error& error) {
        all_known = false;
        report(
            "field-gathered", at, fmt::format("{}: {}", described(stage_at(at)), error.what()),
            {fmt::format("'{}' is provided by {}", gathers.from, described(stage_at(one.node)))});
      }
    }
    return all_known;
  }

  /// The fields before a node. If one branch changed a field, the changed one is kept.
  FieldState joined(std::size_t at) {
    const std::vector<std::size_t>& inputs = flow_.nodes[at].inputs;
    FieldState state;
    for (const std::size_t input : inputs) {
      const FieldState& branch = states_[input];
      state.anything = state.anything || branch.anything;
      for (const auto& [name, field] : branch.fields) {
        const auto [known, first] = state.fields.emplace(name, field);
        if (first || known->second.node == field.node) continue;
        const bool ours_before = before_all(known->second.node, inputs) ||
                                 ancestors_[field.node].contains(known->second.node);
        const bool theirs_before =
            before_all(field.node, inputs) || ancestors_[known->second.node].contains(field.node);
        if (!ours_before && !theirs_before) report_conflict(at, name, known->second, field);
        if (ours_before) known->second = field;
      }
    }
    return state;
  }

  [[nodiscard]] bool before_all(std::size_t node, const std::vector<std::size_t>& inputs) const {
    return std::ranges::all_of(inputs,
                               [&](std::size_t input) { return ancestors_[input].contains(node); });
  }

  void report_conflict(std::size_t at, const std::string& field, const Provided& a,
                       const Provided& b) {
    const auto key = std::tuple(field, a.node, b.node);
    if (!conflicts_.insert(key).second) return;
    report("join-conflict", b.node,
           fmt::format("two branches that '{}' joins both provide '{}': {} and {}",
                       flow_.nodes[at].stage, field, described(stage_at(a.node)),
                       described(stage_at(b.node))),
           {conflict_remedy(field, a.node, b.node)});
  }

  /// Running them in sequence helps only if the second one builds on the result of the first.
  [[nodiscard]] std::string conflict_remedy(const std::string& field, std::size_t a,
                                            std::size_t b) const {
    const bool a_reads = reads(a, field);
    const bool b_reads = reads(b, field);
    if (a_reads && b_reads)
      return "run them in sequence, or have one of them provide a different field";
    if (a_reads || b_reads) {
      return fmt::format("run '{}' after '{}', or have one of them provide a different field",
                         flow_.nodes[a_reads ? a : b].stage, flow_.nodes[a_reads ? b : a].stage);
    }
    return "remove one, or have one provide a different field; running them in sequence does not "
           "help, because neither reads the field and the second would overwrite the first";
  }

  /// Whether a stage builds on the existing value.
  [[nodiscard]] bool reads(std::size_t node, const std::string& field) const {
    const Description& description = stage_at(node).runner->description();
    const auto named = [&](const FieldInfo& info) { return info.name == field; };
    return std::ranges::any_of(description.needs, named) ||
           std::ranges::any_of(description.accepts, named);
  }

  /// Checks that a name has only one type within a flow; false after a report.
  bool check_type(std::size_t at, const FieldInfo& field) {
    const auto [known, first] = types_.emplace(field.name, Provided{field, at});
    if (first || known->second.type == field.type) return true;
    mistyped_.insert(field.name);
    report(
        "field-type", at,
        fmt::format("{} provides field '{}' as {}, but {} provides it as {}",
                    described(stage_at(at)), field.name, readable_type(field.type),
                    described(stage_at(known->second.node)), readable_type(known->second.type)),
        {"within a flow, a field name has one type; one of the plugins must use a different name"});
    return false;
  }

  /// A value that no stage builds on would be lost silently, such as the first of two losses.
  void check_overwriting(std::size_t at, const FieldInfo& field, const FieldState& state) {
    if (state.anything || reads(at, field.name)) return;
    const auto before = state.fields.find(field.name);
    if (before == state.fields.end()) return;
    report(
        "field-overwritten", at,
        fmt::format("{} provides '{}' without reading it and would overwrite the value from {}",
                    described(stage_at(at)), field.name, described(stage_at(before->second.node))),
        {"remove one of the two, or have one provide a different field",
         "a stage that builds on the existing value must declare that it needs or accepts it"});
  }

  void check_need(std::size_t at, const FieldInfo& need, const FieldState& state, bool must) {
    if (state.anything || mistyped_.contains(need.name)) return;
    const auto found = state.fields.find(need.name);
    if (found == state.fields.end()) {
      if (must) report_missing(at, need, state);
      return;
    }
    const Provided& have = found->second;
    if (have.type != need.type) {
      report("field-type", at,
             fmt::format("{} needs field '{}' as {}, but {} provides it as {}",
                         described(stage_at(at)), need.name, readable_type(need.type),
                         described(stage_at(have.node)), readable_type(have.type)));
      return;
    }
    check_values(at, need, have);
    if (have.contract.empty() || need.contract.empty()) return;
    try {
      const auto difference = TensorContract::first_difference(
          TensorContract::parse(have.contract), TensorContract::parse(need.contract));
      if (!difference) return;
      report("field-contract", at,
             fmt::format("{} cannot use field '{}': {}", described(stage_at(at)), need.name,
                         *difference),
             {fmt::format("needed:   {} by {}{}", need.contract, described(stage_at(at)),
                          explained(need.doc)),
              fmt::format("provided: {} by {}{}", have.contract, described(stage_at(have.node)),
                          explained(have.doc))});
    } catch (const Error& error) {
      report("plugin-contract", at, error.what(),
             {"this is a bug in the plugin; report it to its author"});
    }
  }

  /// The sizes of the names in the stage's contracts. Reports names with two different sizes.
  Sizes arriving_sizes(std::size_t at, const Description& description, const FieldState& state) {
    Sizes sizes;
    if (state.anything) return sizes;
    for (const auto* const fields : {&description.needs, &description.accepts}) {
      for (const FieldInfo& field : *fields) {
        const auto found = state.fields.find(field.name);
        if (found == state.fields.end() || found->second.type != field.type) continue;
        const std::vector<std::string> names = dimensions_in(field.contract);
        const std::vector<std::string> have = dimensions_in(found->second.contract);
        for (std::size_t i = 0; i < std::min(names.size(), have.size()); ++i) {
          const auto size = number_in<std::int64_t>(have[i]);
          if (!size || !is_size_name(names[i])) continue;
          const auto [known, first] = sizes.emplace(names[i], Size{*size, &found->second});
          if (first || known->second.size == *size) continue;
          report_two_sizes(at, names[i], known->second, {*size, &found->second});
        }
      }
    }
    return sizes;
  }

  void report_two_sizes(std::size_t at, const std::string& name, const Size& a, const Size& b) {
    const auto note = [&](const Size& one) {
      return fmt::format("'{}' is {} by {}", one.field->name, one.field->contract,
                         described(stage_at(one.field->node)));
    };
    const bool both = a.field != b.field;
    report("field-contract", at,
           fmt::format("{} needs {} with one size {}, but it is {} and {}", described(stage_at(at)),
                       both ? fmt::format("'{}' and '{}'", a.field->name, b.field->name)
                            : fmt::format("'{}'", a.field->name),
                       name, a.size, b.size),
           both ? std::vector{note(a), note(b)} : std::vector{note(a)});
  }

  void check_values(std::size_t at, const FieldInfo& need, const Provided& have) {
    if (have.values.empty()) return;
    const auto lacks = [&](const std::string& value) { return !contains(have.values, value); };
    if (std::ranges::none_of(need.values, lacks)) return;
    report("field-values", at,
           fmt::format("{} cannot use field '{}', whose values are {} here",
                       described(stage_at(at)), need.name, enumerated(have.values)),
           {fmt::format("needed:   {} by {}{}", enumerated(need.values), described(stage_at(at)),
                        explained(need.doc)),
            fmt::format("provided: {} by {}", enumerated(have.values),
                        described(stage_at(have.node)))});
  }

  static std::string explained(const std::string& doc) { return doc.empty() ? doc : ": " + doc; }

  void report_missing(std::size_t at, const FieldInfo& need, const FieldState& state) {
    std::map<std::size_t, std::vector<std::string>> by_stage;
    std::vector<std::string> names;
    for (const auto& [name, field] : state.fields) {
      by_stage[field.node].push_back(name);
      names.push_back(name);
    }
    std::vector<std::string> notes{did_you_mean(need.name, names)};
    if (!need.doc.empty()) notes.push_back(fmt::format("'{}': {}", need.name, need.doc));
    std::vector<std::string> others;
    for (const StageDraft& stage : stages_) {
      const bool before = std::ranges::any_of(ancestors_[at], [&](std::size_t node) {
        return flow_.nodes[node].stage == stage.spec.name;
      });
      if (!stage.sound || before) continue;
      for (const FieldInfo& field : stage.runner->description().provides) {
        if (field.name == need.name) others.push_back(fmt::format("'{}'", stage.spec.name));
      }
    }
    if (!others.empty()) {
      notes.push_back(
          fmt::format("it is provided by {}, which does not come before it in this "
                      "flow",
                      enumerated(others)));
    }
    for (const auto& [node, fields] : by_stage) {
      notes.push_back(
          fmt::format("available from '{}': {}", flow_.nodes[node].stage, enumerated(fields)));
    }
    const auto replaced = std::ranges::find_if(ancestors_[at], [&](std::size_t node) {
      const StageDraft& stage = stage_at(node);
      return node != at && stage.sound && stage.runner->description().replaces_packets;
    });
    if (replaced != ancestors_[at].end()) {
      notes.push_back(
          fmt::format("'{}' emits new packets: fields from earlier stages are not passed on",
                      flow_.nodes[*replaced].stage));
    }
    if (by_stage.empty()) notes.emplace_back("no stage before it provides any field");
    report("missing-field", at,
           fmt::format("{} needs field '{}'{}, which no stage before it provides",
                       described(stage_at(at)), need.name,
                       need.contract.empty() ? "" : " (" + need.contract + ")"),
           std::move(notes));
  }

  const FlowSpec& flow_;
  const std::vector<StageDraft>& stages_;
  Findings& findings_;
  Arrival arrival_;
  std::vector<std::set<std::size_t>> ancestors_;
  std::vector<FieldState> states_;
  std::set<std::tuple<std::string, std::size_t, std::size_t>> conflicts_;
  std::map<std::string, Provided> types_;  ///< by name, of the first stage that provides it
  std::set<std::string> mistyped_;         ///< already reported, so their readers are not checked
};

/// A parameter that is the size of a needed field, and that the file omits.
struct UnsetSize {
  std::string parameter;
  std::string doc;
  std::string field;
  std::size_t dimension = 0;
};

std::vector<UnsetSize> unset_sizes(const StageDraft& stage) {
  std::vector<UnsetSize> unset;
  if (!stage.sound) return unset;
  const Description& description = stage.runner->description();
  for (const FieldInfo& need : description.needs) {
    const std::vector<std::string> names = dimensions_in(need.contract);
    for (const ParameterInfo& parameter : description.parameters) {
      const auto named = std::ranges::find(names, parameter.name);
      if (!parameter.from_field || named == names.end()) continue;
      if (stage.spec.values.contains(parameter.name)) continue;
      if (without_effect(parameter, description, stage.spec.values)) continue;
      unset.push_back({parameter.name, parameter.doc, need.name,
                       static_cast<std::size_t>(named - names.begin())});
    }
  }
  return unset;
}

/// The size of the dimension; nullopt if the contract does not fix it.
std::optional<std::int64_t> size_in(const std::string& contract, std::size_t dimension) {
  const std::vector<std::string> sizes = dimensions_in(contract);
  if (dimension >= sizes.size()) return std::nullopt;
  return number_in<std::int64_t>(sizes[dimension]);
}

/// Sets the sizes that are known at a node, and remembers the others.
class SizeSetting {
 public:
  SizeSetting(std::vector<StageDraft>& stages, const SetValues& set) : stages_(stages), set_(set) {}

  void arrive(const FlowSpec& flow, const FlowNode& node, const FieldState& arriving) {
    StageDraft& stage = *std::ranges::find_if(
        stages_, [&](const StageDraft& each) { return each.spec.name == node.stage; });
    Values sizes;
    for (const UnsetSize& unset : unset_sizes(stage)) {
      const auto field = arriving.fields.find(unset.field);
      if (field == arriving.fields.end() || arriving.anything) continue;
      const Provided& have = field->second;
      if (const auto size = size_in(have.contract, unset.dimension)) {
        sizes[unset.parameter] = *size;
      } else {
        const StageDraft& provider = *find_stage(stages_, flow.nodes[have.node].stage);
        unknown_.try_emplace(
            {node.stage, unset.parameter},
            fmt::format("{} provides '{}'{}, so it is unknown before the run; set "
                        "'{}'",
                        described(provider), unset.field,
                        have.contract.empty() ? "" : " as " + have.contract, unset.parameter));
      }
    }
    if (sizes.empty()) return;
    set_(stage, sizes);
    unknown_.clear();
    complete_ = false;
  }

  /// Whether nothing was set since the last call: a size may follow from one in a later flow.
  bool is_complete() { return std::exchange(complete_, true); }

  void report(Findings& findings) const {
    for (const StageDraft& stage : stages_) {
      for (const UnsetSize& unset : unset_sizes(stage)) {
        const auto why = unknown_.find({stage.spec.name, unset.parameter});
        if (why == unknown_.end()) continue;  // the field is missing, which is reported
        findings.error(
            "missing-parameter", stage.spec.place,
            fmt::format("{} needs '{}': {}", described(stage), unset.parameter, unset.doc),
            {why->second});
      }
    }
  }

 private:
  std::vector<StageDraft>& stages_;
  const SetValues& set_;
  std::map<std::pair<std::string, std::string>, std::string> unknown_;  // stage, parameter: why
  bool complete_ = false;
};

}  // namespace

void set_sizes(const std::vector<FlowSpec>& flows, std::vector<StageDraft>& stages,
               const SetValues& set, Findings& findings) {
  SizeSetting sizes(stages, set);
  const Sources no_sources;
  while (!sizes.is_complete()) {
    Findings unheard(no_sources);  // check_fields() reports them, once all sizes are known
    for (const FlowSpec& flow : flows) {
      const auto arrive = [&](const FlowNode& node, const FieldState& arriving) {
        sizes.arrive(flow, node, arriving);
      };
      FieldCheck(flow, stages, unheard, arrive).check();
    }
  }
  sizes.report(findings);
}

void check_fields(const FlowSpec& flow, const std::vector<StageDraft>& stages, Findings& findings) {
  FieldCheck(flow, stages, findings).check();
}

}  // namespace seam::host
