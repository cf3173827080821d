// SPDX-License-Identifier: Apache-2.0
/// The description of a stage, as the host reads it: parameters, fields, interfaces, text. The
/// stage fills it through its Declaration.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "seam/export.hpp"

namespace seam {

/// Whether a string is a valid stage name: one word, or a family and a word separated by a full
/// stop ("image.decode"). Words consist of lower-case letters, digits and underscores and begin
/// with a letter.
SEAM_EXPORT bool is_stage_name(std::string_view text);

/// A parameter's value as written in a file. Paths and enumerations are strings.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<double>, std::vector<std::string>>;

enum class ValueKind : std::uint8_t {
  boolean,
  integer,
  number,
  text,
  path,
  enumeration,  ///< one of `choices`
  integers,
  numbers,
  texts,
  enumerations,  ///< several of `choices`
  reference,     ///< the name of a stage that offers `interface`
};

/// "an integer", "a list of numbers", ...: for messages.
SEAM_EXPORT std::string_view kind_name(ValueKind kind);
/// The value in TOML notation.
SEAM_EXPORT std::string to_text(const Value& value);

/// A parameter, and those of its values with which another one has an effect.
struct Condition {
  std::string parameter;
  std::vector<Value> values;

  friend bool operator==(const Condition&, const Condition&) = default;
};

/// Meaning of a parameter when runs are compared.
enum class ParameterRole : std::uint8_t {
  setting,    ///< it may change results
  replicate,  ///< it selects the repetition of an experiment, such as the fold that is held out
  /// It names the data and the rules of a measurement: results of different protocols are not
  /// compared.
  protocol,
  same_results,  ///< results do not depend on it, as on a number of threads
};

/// "setting", "replicate", "protocol", "same_results"
SEAM_EXPORT std::string_view to_string(ParameterRole role);

struct ParameterInfo {
  std::string name;
  std::string doc;
  std::string unit;
  ValueKind kind = ValueKind::text;
  std::optional<Value> default_value;  ///< none: required, or optional without a default
  bool required = false;
  std::optional<double> least;  ///< inclusive; for lists, of every element
  std::optional<double> most;
  std::vector<std::string> choices;
  std::vector<std::string> renamed_from;  ///< old names, still accepted with a warning
  std::string interface;  ///< for references: the interface that the other stage must provide
  /// For paths: a folder that must exist before the run and contain these files and folders ("a|b":
  /// one of the two). None: no such condition.
  std::optional<std::vector<std::string>> folder_with;
  /// For paths: a file or folder that must exist before the run, relative to the folder in the
  /// parameter of this name, or, if the name is empty, as written. None: no such condition.
  std::optional<std::string> exists_in;
  /// Defines how a network starts; it has no effect if its state is restored.
  bool initial = false;
  /// If the file omits it, it is the size that a field has when it arrives.
  bool from_field = false;
  ParameterRole role = ParameterRole::setting;
  /// For replicates: with these values of another parameter, this one selects nothing. None: it
  /// always does.
  std::optional<Condition> unused_with;
  /// Only then has the parameter an effect; otherwise it must not be set. None: always.
  std::optional<Condition> only_with;
  /// Chooses the defaults of others: see Declaration::preset.
  bool is_preset = false;
  /// Defaults that differ from `default_value`, by the preset that has them.
  std::map<std::string, std::optional<Value>> preset_defaults;

  /// Sets the member. Only for values that `problem_with` accepts.
  std::function<void(const Value&)> assign;
  /// For references: sets the other stage's interface.
  std::function<void(void*)> bind;
};

/// Returns what is wrong with the value for this parameter, or nullopt. Integers are accepted as
/// numbers.
SEAM_EXPORT std::optional<std::string> problem_with(const ParameterInfo& parameter,
                                                    const Value& value);
/// "a number from 0 to 4 (px)", "one of replace, accumulate": what a parameter takes.
SEAM_EXPORT std::string accepted_by(const ParameterInfo& parameter);

struct FieldInfo {
  std::string name;
  std::string type;      ///< C++ type, as type_name spells it
  std::string contract;  ///< tensor contract, or empty
  std::string doc;
  std::string gathered_type = {};  ///< type of N gathered values; empty: they cannot be gathered
  std::string gathered_contract = {};  ///< as far as the type defines it
  /// The values that the field holds, as written in files and messages; for a needed field, the
  /// required ones. Empty: unknown, or any.
  std::vector<std::string> values = {};
  std::string values_of = {};  ///< in a batch: the values of this field of its packets, if present
};

/// A field of single images, of any type, that a collector gathers into a field of the batch.
struct GatheredField {
  std::string from;
  std::string name;  ///< in the batch
};

/// The field of a batch in which `one` is gathered under that name. Throws seam::Error if its type
/// cannot be gathered, or if a shared field of a different type has the name.
SEAM_EXPORT FieldInfo gathered(const FieldInfo& one, const std::string& name);

struct OfferedInterface {
  std::string interface;
  void* target = nullptr;
};

struct UpstreamReference {
  std::string interface;
  std::string doc;
  std::function<void(void*)> add;
  std::function<void()> clear;
};

/// Which part of a stage's state a checkpoint needs.
enum class Kept : std::uint8_t {
  always,
  /// A flow through the stage recreates the whole state, as for a gallery. A checkpoint omits it if
  /// such a flow runs before any flow that reads it.
  until_next_flow,
};

/// Which of two values of a metric is the better one.
enum class Better : std::uint8_t { higher, lower };

/// A headline metric: shown first, even where other metrics are omitted.
struct Headline {
  std::string metric;  ///< as the stage records it; `*` matches any characters
  Better better = Better::higher;

  friend bool operator==(const Headline&, const Headline&) = default;
};

/// The part of a description that may depend on the parameters' values.
struct Configured {
  std::vector<FieldInfo> needs;
  std::vector<FieldInfo> accepts;  ///< used if present
  std::vector<FieldInfo> provides;
  std::vector<GatheredField> gathers;
  std::vector<std::string> labels_read;  ///< label fields that change what evaluation computes
  std::vector<Headline> headlines;       ///< the most important first
  bool keeps_state = false;
  bool state_made_by_flow = false;  ///< see Kept
  bool replaces_packets = false;    ///< a collector: see Declaration::replaces_packets
  bool trains = false;              ///< a flow that reaches this stage is a training flow
  bool only_writes = false;         ///< see Declaration::only_writes
};

/// Parameters as written in a file, by name.
using Values = std::map<std::string, Value>;

/// The complete description of a stage, used by check, inspect, --set, the docs and the JSON
/// Schema.
struct Description : Configured {
  std::string doc;
  std::vector<ParameterInfo> parameters;
  std::vector<OfferedInterface> offers;
  std::vector<UpstreamReference> upstream;
};

/// The parameter's default if the file sets these values, one of which may be a preset.
SEAM_EXPORT std::optional<Value> default_of(const ParameterInfo& parameter,
                                            const Description& description, const Values& set);
/// Returns why the parameter has no effect if the file sets these values, such as `has no effect
/// with form = "cosine"; remove it, or set form to "hinge"`, or nullopt.
SEAM_EXPORT std::optional<std::string> without_effect(const ParameterInfo& parameter,
                                                      const Description& description,
                                                      const Values& set);
/// The parameter's text, with its condition: `margin; only with form = "hinge"`.
SEAM_EXPORT std::string documentation_of(const ParameterInfo& parameter);

}  // namespace seam
