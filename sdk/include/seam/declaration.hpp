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
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "seam/description.hpp"
#include "seam/export.hpp"
#include "seam/field.hpp"
#include "seam/parameter_type.hpp"
#include "seam/reference.hpp"

namespace seam {

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

}  // namespace seam
