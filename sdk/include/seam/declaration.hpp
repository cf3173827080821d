// SPDX-License-Identifier: Apache-2.0
/// The single place where a stage describes itself.
///
///     declare(d) ──► Declaration ──► Description   parameters, fields, interfaces, text
///                          │
///                          └── setters bound to the stage's members
///
/// A parameter is bound to its member; the member's initialiser is its default. The host calls
/// `declare` on a fresh instance to describe the stage and to fill its members, and again
/// afterwards, so that field contracts may be computed from parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "seam/export.hpp"
#include "seam/field.hpp"
#include "seam/reference.hpp"

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

/// How a C++ type is written in a file.
template <class T>
struct ParameterType;

/// The names of an enumeration's values, in the order of the documentation.
template <class E>
using Choices = std::initializer_list<std::pair<std::string_view, E>>;

/// Refines the parameter just declared.
class SEAM_EXPORT ParameterBuilder {
 public:
  explicit ParameterBuilder(ParameterInfo& parameter) : parameter_(&parameter) {}

  ParameterBuilder& range(double least, double most);
  ParameterBuilder& at_least(double least);
  ParameterBuilder& at_most(double most);
  ParameterBuilder& unit(std::string unit);
  /// Makes the parameter required: the file must set it.
  ParameterBuilder& required();
  /// Integers: the size of a field that arrives, unless the file sets it. The member must be 0
  /// without a value, and a needed field's contract must then name the parameter as a dimension:
  ///
  ///     d.parameter("width", width_, "length of the embedding").at_least(1).from_field();
  ///     d.needs(field::embedding).contract("f32[N," + dimension_of(width_, "width") + "]");
  ParameterBuilder& from_field();
  /// For references: the parameter may be omitted.
  ParameterBuilder& optional();
  /// Strings: only these are accepted.
  ParameterBuilder& choices(std::vector<std::string> choices);
  /// Paths: a folder that must exist before the run and contain these files or folders, each a name
  /// or alternative names ("Eval/list.txt|list.txt"). `seam check` warns if it does not.
  ParameterBuilder& folder_with(std::vector<std::string> names);
  /// Paths: a file or folder that must exist before the run, if it is set; `folder` names the
  /// parameter with the folder that it is relative to. `seam check` warns if it does not exist.
  ParameterBuilder& must_exist(std::string folder = {});
  /// Used only when a run starts, such as initial weights: in a run that resumes from a checkpoint,
  /// the member keeps its default.
  ParameterBuilder& initial();
  /// Runs that differ only in this parameter and in their seeds repeat one experiment:
  /// `seam compare` averages them. With the `value` of the parameter `unless`, it selects nothing,
  /// such as the held-out fold of 1 fold.
  ParameterBuilder& replicate();
  ParameterBuilder& replicate(std::string unless, Value value);
  /// Names the data and the rules of the stage's measurement: `seam compare` does not rank results
  /// of different protocols together, and scores show it.
  ParameterBuilder& protocol();
  /// Results do not depend on the parameter, as on a number of threads: runs that differ in it are
  /// equal.
  ParameterBuilder& same_results();
  /// An older name that files may still use.
  ParameterBuilder& renamed_from(std::string old_name);
  /// The parameter has no effect unless another parameter has this value, or one of these values. A
  /// file that sets it nevertheless is rejected.
  ParameterBuilder& only_with(std::string parameter, const char* value);
  ParameterBuilder& only_with(std::string parameter, Value value);
  ParameterBuilder& only_with(std::string parameter, std::vector<std::string> values);

 private:
  ParameterInfo* parameter_;  // in the Declaration, which outlives this builder's full expression
};

/// Refines the field just declared.
class SEAM_EXPORT FieldBuilder {
 public:
  explicit FieldBuilder(FieldInfo& field) : field_(&field) {}
  /// Narrows the key's own contract: "f32[N,3,224,224]".
  FieldBuilder& contract(std::string contract);
  FieldBuilder& doc(std::string doc);
  /// The values that a provided field holds, or that a needed one must hold: {"anchor",
  /// "positive"}. `of` is for collectors: the values of this field of the packets, if they have it.
  FieldBuilder& values(std::vector<std::string> values, std::string of = {});

 private:
  FieldInfo* field_;  // in the Declaration, as above
};

class SEAM_EXPORT Declaration {
 public:
  /// Description of the stage in Markdown: a first sentence, and more if that helps.
  void doc(std::string text);

  /// Binds a parameter to a member of type bool, an integer, a float, std::string,
  /// std::filesystem::path, a std::vector of those, or std::optional of one.
  template <class T>
  ParameterBuilder parameter(std::string name, T& member, std::string doc) {
    static_assert(!std::is_enum_v<T>,
                  "a parameter of an enumeration type must list the names of its values: "
                  "d.parameter(name, member, doc, {{\"replace\", Logits::replace}, ...})");
    ParameterInfo& info = add_parameter(std::move(name), std::move(doc));
    info.kind = ParameterType<T>::kind;
    note_defaults(info, member, [](const T& value) { return ParameterType<T>::to_value(value); });
    ParameterType<T>::limit(info);
    info.assign = [&member](const Value& value) { member = ParameterType<T>::from_value(value); };
    return ParameterBuilder(info);
  }

  /// Binds an enumeration: d.parameter("logits", logits_, "...", {{"replace", Logits::replace}}).
  template <class E>
  requires std::is_enum_v<E> ParameterBuilder parameter(std::string name, E& member,
                                                        std::string doc, Choices<E> choices) {
    ParameterInfo& info = add_parameter(std::move(name), std::move(doc));
    info.kind = ValueKind::enumeration;
    const std::vector<std::pair<std::string, E>> known = keep(info, choices);
    note_defaults(info, member, [&known](E value) -> std::optional<Value> {
      for (const auto& [text, candidate] : known) {
        if (candidate == value) return Value{text};
      }
      return std::nullopt;
    });
    info.assign = [&member, known](const Value& value) {
      member = find_choice(known, std::get<std::string>(value));
    };
    return ParameterBuilder(info);
  }

  /// Binds several values of an enumeration: masks = ["none", "predicted"].
  template <class E>
  requires std::is_enum_v<E> ParameterBuilder parameter(std::string name, std::vector<E>& member,
                                                        std::string doc, Choices<E> choices) {
    ParameterInfo& info = add_parameter(std::move(name), std::move(doc));
    info.kind = ValueKind::enumerations;
    const std::vector<std::pair<std::string, E>> known = keep(info, choices);
    note_defaults(info, member, [&known](const std::vector<E>& values) {
      std::vector<std::string> texts;
      for (const E value : values) {
        for (const auto& [text, candidate] : known) {
          if (value == candidate) texts.push_back(text);
        }
      }
      return std::optional(Value{texts});
    });
    info.assign = [&member, known](const Value& value) {
      member.clear();
      for (const std::string& text : std::get<std::vector<std::string>>(value)) {
        member.push_back(find_choice(known, text));
      }
    };
    return ParameterBuilder(info);
  }

  /// A parameter that chooses among named options. The first ones are the default, with which the
  /// member must be initialised. Call it before the parameters that are bound to the options'
  /// members: a preset provides their defaults, whatever the order in the file.
  template <class Options>
  ParameterBuilder preset(std::string name, Options& options, std::string doc,
                          std::vector<std::pair<std::string, Options>> presets) {
    ParameterInfo& info = add_parameter(std::move(name), std::move(doc));
    info.kind = ValueKind::enumeration;
    info.is_preset = true;
    info.default_value = Value{presets.front().first};
    presets_ = {bytes(&options), bytes(&options + 1), {}};
    for (const auto& [text, values] : presets) {
      info.choices.push_back(text);
      presets_.all.emplace_back(text, std::make_shared<Options>(values));
    }
    info.assign = [&options, presets = std::move(presets)](const Value& value) {
      for (const auto& [text, values] : presets) {
        if (text == std::get<std::string>(value)) options = values;
      }
    };
    return ParameterBuilder(info);
  }

  /// A parameter that names another stage of the pipeline.
  template <class Interface>
  ParameterBuilder reference(std::string name, Ref<Interface>& member, std::string doc) {
    ParameterInfo& info = add_parameter(std::move(name), std::move(doc));
    info.kind = ValueKind::reference;
    info.required = true;
    info.interface = type_name<Interface>();
    info.bind = [&member](void* target) { member.bind(static_cast<Interface*>(target)); };
    return ParameterBuilder(info);
  }

  /// All stages upstream in the same flow that provide the interface; not set in the file. In
  /// open(), before any flow runs, those of all flows that contain the stage.
  template <class Interface>
  void upstream(Refs<Interface>& member, std::string doc) {
    description_.upstream.push_back(
        {std::string(type_name<Interface>()), std::move(doc),
         [&member](void* target) { member.add(static_cast<Interface*>(target)); },
         [&member] { member.clear(); }});
  }

  /// Lets other stages refer to this one.
  template <class Interface>
  void offers(Interface& self) {
    description_.offers.push_back({std::string(type_name<Interface>()), &self});
  }

  template <class T>
  FieldBuilder needs(const Field<T>& key) {
    return add_field(description_.needs, info_of(key));
  }
  /// An optional field, used if present.
  template <class T>
  FieldBuilder accepts(const Field<T>& key) {
    return add_field(description_.accepts, info_of(key));
  }
  template <class T>
  FieldBuilder provides(const Field<T>& key) {
    return add_field(description_.provides, info_of(key));
  }

  /// A field of single images, of any type, that this collector needs and gathers into its batches
  /// under a different name, as defined by the type's FieldTraits. Within a flow, a name has one
  /// type.
  void gathers(std::string from, std::string name) {
    description_.gathers.push_back({std::move(from), std::move(name)});
  }

  /// This stage has state to save: save() and load() are called.
  void keeps_state(Kept kept = Kept::always) {
    description_.keeps_state = true;
    description_.state_made_by_flow = kept == Kept::until_next_flow;
  }
  /// Each emitted packet replaces several received ones, as in a batch, and has only the fields
  /// that the collector provides. Without this, a collector passes on packets that it received,
  /// with all their fields, as a sampler does.
  void replaces_packets() { description_.replaces_packets = true; }
  /// A flow with this stage trains: gradients are recorded, context.training() is true.
  void trains() { description_.trains = true; }
  /// The stage only writes files, images or reports: a run measures the same without it. Its
  /// settings are ignored when runs are compared, and its state when they are evaluated again.
  void only_writes() { description_.only_writes = true; }
  /// Declares a headline metric, such as recall@1; `*` in its name matches any characters. The
  /// epoch lines and the score of a run show these metrics.
  void headline(std::string metric, Better better) {
    description_.headlines.push_back({std::move(metric), better});
  }
  /// Evaluation depends on this label field; reports then state that they read labels.
  void reads_label(std::string_view field);

  [[nodiscard]] const Description& description() const { return description_; }
  [[nodiscard]] Description& description() { return description_; }

 private:
  /// The options of preset(), and the copies of them that have other values.
  struct Presets {
    const std::byte* first = nullptr;
    const std::byte* end = nullptr;
    std::vector<std::pair<std::string, std::shared_ptr<const void>>> all;
  };

  static const std::byte* bytes(const void* object) {
    return static_cast<const std::byte*>(object);
  }
  ParameterInfo& add_parameter(std::string name, std::string doc);
  /// The default is the member's value. If it is a member of the presets' options, the defaults of
  /// the presets are at the same offset in their copies.
  template <class T, class ToValue>
  void note_defaults(ParameterInfo& info, const T& member, const ToValue& to_value) {
    info.default_value = to_value(member);
    const std::byte* const at = bytes(&member);
    if (std::less<>()(at, presets_.first) || !std::less<>()(at, presets_.end)) return;
    for (const auto& [name, options] : presets_.all) {
      const void* const there = bytes(options.get()) + (at - presets_.first);
      const std::optional<Value> value = to_value(*static_cast<const T*>(there));
      if (value != info.default_value) info.preset_defaults[name] = value;
    }
  }
  /// Throws seam::Error if a shared field's name is used with a different type.
  static FieldBuilder add_field(std::vector<FieldInfo>& fields, FieldInfo field);
  template <class T>
  static FieldInfo info_of(const Field<T>& key) {
    return {std::string(key.name),
            std::string(type_name<T>()),
            std::string(key.contract),
            {},
            std::string(gathering_of<T>().type),
            gathered_contract<T>()};
  }

  template <class E>
  static std::vector<std::pair<std::string, E>> keep(ParameterInfo& info, Choices<E> choices) {
    std::vector<std::pair<std::string, E>> known;
    for (const auto& [text, value] : choices) {
      known.emplace_back(std::string(text), value);
      info.choices.emplace_back(text);
    }
    return known;
  }
  template <class E>
  static E find_choice(const std::vector<std::pair<std::string, E>>& known,
                       const std::string& text) {
    for (const auto& [name, value] : known) {
      if (name == text) return value;
    }
    return known.front().second;  // not reached: problem_with has rejected other strings
  }

  Description description_;
  Presets presets_;
};

template <>
struct ParameterType<bool> {
  static constexpr ValueKind kind = ValueKind::boolean;
  static std::optional<Value> to_value(bool member) { return Value{member}; }
  static bool from_value(const Value& value) { return std::get<bool>(value); }
  static void limit(ParameterInfo& /*info*/) {}
};

template <class T>
requires std::is_integral_v<T>
struct ParameterType<T> {
  static constexpr ValueKind kind = ValueKind::integer;
  static std::optional<Value> to_value(T member) {
    return Value{static_cast<std::int64_t>(member)};
  }
  static T from_value(const Value& value) { return static_cast<T>(std::get<std::int64_t>(value)); }
  /// The range of the member's type; TOML integers are signed 64-bit.
  static void limit(ParameterInfo& info) {
    if constexpr (std::is_unsigned_v<T> || sizeof(T) < sizeof(std::int64_t)) {
      info.least = static_cast<double>(std::numeric_limits<T>::min());
    }
    if constexpr (sizeof(T) < sizeof(std::int64_t)) {
      info.most = static_cast<double>(std::numeric_limits<T>::max());
    }
  }
};

template <class T>
requires std::is_floating_point_v<T>
struct ParameterType<T> {
  static constexpr ValueKind kind = ValueKind::number;
  static std::optional<Value> to_value(T member) { return Value{static_cast<double>(member)}; }
  static T from_value(const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<T>(*integer);
    return static_cast<T>(std::get<double>(value));
  }
  static void limit(ParameterInfo& /*info*/) {}
};

template <>
struct ParameterType<std::string> {
  static constexpr ValueKind kind = ValueKind::text;
  static std::optional<Value> to_value(const std::string& member) { return Value{member}; }
  static std::string from_value(const Value& value) { return std::get<std::string>(value); }
  static void limit(ParameterInfo& /*info*/) {}
};

template <>
struct ParameterType<std::filesystem::path> {
  static constexpr ValueKind kind = ValueKind::path;
  static std::optional<Value> to_value(const std::filesystem::path& member) {
    return Value{member.string()};
  }
  static std::filesystem::path from_value(const Value& value) {
    return std::get<std::string>(value);
  }
  static void limit(ParameterInfo& /*info*/) {}
};

template <class T>
struct ParameterType<std::vector<T>> {
  using Stored =
      std::conditional_t<std::is_integral_v<T>, std::int64_t,
                         std::conditional_t<std::is_floating_point_v<T>, double, std::string>>;
  static constexpr ValueKind kind = std::is_integral_v<T>         ? ValueKind::integers
                                    : std::is_floating_point_v<T> ? ValueKind::numbers
                                                                  : ValueKind::texts;
  static std::optional<Value> to_value(const std::vector<T>& member) {
    return Value{std::vector<Stored>(member.begin(), member.end())};
  }
  static std::vector<T> from_value(const Value& value) {
    std::vector<T> result;
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      if constexpr (std::is_arithmetic_v<T>) {
        for (const std::int64_t element : *integers) result.push_back(static_cast<T>(element));
      }
    } else {
      for (const Stored& element : std::get<std::vector<Stored>>(value)) {
        result.push_back(static_cast<T>(element));
      }
    }
    return result;
  }
  static void limit(ParameterInfo& info) {
    if constexpr (std::is_integral_v<T>) ParameterType<T>::limit(info);
  }
};

template <class T>
struct ParameterType<std::optional<T>> {
  static constexpr ValueKind kind = ParameterType<T>::kind;
  static std::optional<Value> to_value(const std::optional<T>& member) {
    return member ? ParameterType<T>::to_value(*member) : std::nullopt;
  }
  static std::optional<T> from_value(const Value& value) {
    return ParameterType<T>::from_value(value);
  }
  static void limit(ParameterInfo& info) { ParameterType<T>::limit(info); }
};

}  // namespace seam
