#include "stages/batch/carried_fields.hpp"

#include <algorithm>
#include <cstring>

#include "stages/field_name.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error("parameter 'carry': " + what, Fault::configuration);
}

std::string plural(const std::string& name) {
  constexpr std::string_view vowels = "aeiou";
  const bool hisses = name.ends_with("x") || name.ends_with("ch") || name.ends_with("sh") ||
                      name.ends_with("ss") || name.ends_with("z");
  if (hisses) return name + "es";
  if (name.ends_with("s")) {
    refuse("'" + name + "' looks like a plural; give its name in the batch, as in '" + name +
           " as batch_" + name + "'");
  }
  if (name.size() > 1 && name.back() == 'y' &&
      vowels.find(name[name.size() - 2]) == std::string_view::npos) {
    return name.substr(0, name.size() - 1) + "ies";
  }
  return name + "s";
}

/// The fields of every batch: name for single images, and in the batch.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> gathered_anyway{
    {{"image", "images"},
     {"item", "items"},
     {"category", "categories"},
     {"index", "indices"},
     {"group", "groups"},
     {"role", "roles"},
     {"path", "paths"},
     {"", "origins"}}};

const Packet::Slot* find_slot(const Packet& packet, std::string_view name) {
  const auto found = std::ranges::find(packet.slots(), name, &Packet::Slot::name);
  return found == packet.slots().end() ? nullptr : &*found;
}

const Packet::Slot& slot_of(const Packet& packet, const std::string& name) {
  return *find_slot(packet, name);  // check() has seen it
}

torch::ScalarType scalar_type(std::string_view element, const std::string& field) {
  if (const auto type = scalar_type_of(element)) return *type;
  throw Error("the numbers of field '" + field + "' are of type '" + std::string(element) +
                  "', which is not one of f32, f64, f16, bf16, i64, i32, u8 and bool",
              Fault::internal);
}

Tensor tensor_of(std::span<const Packet> packets, const std::string& field) {
  Tensor tensor;
  char* row = nullptr;
  std::size_t bytes = 0;
  for (const Packet& packet : packets) {
    const Packet::Slot& slot = slot_of(packet, field);
    const NumberView numbers = slot.type->gathering.numbers(slot.value.get());
    if (!tensor.defined()) {
      std::vector<std::int64_t> sizes{static_cast<std::int64_t>(packets.size())};
      sizes.insert(sizes.end(), numbers.sizes.begin(), numbers.sizes.end());
      tensor = torch::empty(sizes, scalar_type(numbers.element, field));
      bytes = tensor.nbytes() / packets.size();
      row = static_cast<char*>(tensor.data_ptr());
    }
    if (bytes > 0) std::memcpy(row, numbers.data, bytes);
    row += bytes;
  }
  return tensor;
}

}  // namespace

CarriedField parse_carried(const std::string& text) {
  constexpr std::string_view as = " as ";
  const std::size_t at = text.find(as);
  CarriedField field;
  field.from = text.substr(0, at);
  const bool named = at != std::string::npos;
  if (named) field.name = text.substr(at + as.size());
  if (!is_field_name(field.from) || (named && !is_field_name(field.name))) {
    refuse("'" + text +
           "' is neither a field name (\"view\") nor a field with its name in the batch (\"view as "
           "angles\")");
  }
  if (!named) field.name = plural(field.from);
  return field;
}

void CarriedFields::declare(Declaration& d, const std::vector<std::string>& entries) {
  fields_.clear();
  for (const std::string& entry : entries) {
    Carried field;
    static_cast<CarriedField&>(field) = parse_carried(entry);
    for (const auto& [from, name] : gathered_anyway) {
      if (field.from == from) {
        refuse("'" + field.from + "' is in every batch, as '" + std::string(name) + "'");
      }
      if (field.name == name || field.name == from) {
        refuse("'" + entry + "': every batch or its images have a field '" + field.name +
               "'; give it a different name, as in '" + field.from + " as batch_" + field.name +
               "'");
      }
    }
    if (field.name == field.from) {
      refuse("'" + entry +
             "': the field in the batch needs a different name from the field of the images, "
             "because a name has only one type in a flow");
    }
    for (const Carried& other : fields_) {
      if (other.from == field.from) refuse("'" + field.from + "' is listed twice");
      if (other.name == field.name) {
        refuse("'" + other.from + "' and '" + field.from + "' would both be '" + field.name +
               "' in the batch");
      }
    }
    field.lasting_name = seam::lasting_name(field.name);
    d.gathers(field.from, field.name);
    fields_.push_back(std::move(field));
  }
}

void CarriedFields::begin() {
  for (Carried& field : fields_) field.pattern.reset();
}

void CarriedFields::check(const Packet& packet) {
  for (Carried& field : fields_) {
    const Packet::Slot* slot = find_slot(packet, field.from);
    if (slot == nullptr) {
      throw Error("'" + packet.origin().text() + "' has no field '" + field.from +
                  "', which 'carry' needs" +
                  (field.pattern ? "; '" + field.pattern->origin.text() + "' has it" : ""));
    }
    const Gathering& gathering = slot->type->gathering;
    if (gathering.type.empty()) {
      throw Error("field '" + field.from +
                      "' cannot be collected: no FieldTraits define this for the type " +
                      readable_type(slot->type->name),
                  Fault::configuration);
    }
    Pattern pattern{packet.origin(), std::string(slot->type->name), {}, {}};
    if (gathering.numbers != nullptr) {
      NumberView numbers = gathering.numbers(slot->value.get());
      pattern.element = numbers.element;
      pattern.sizes = std::move(numbers.sizes);
    }
    if (!field.pattern) {
      field.pattern = std::move(pattern);
      continue;
    }
    const Pattern& first = *field.pattern;
    if (pattern.type != first.type) {
      throw Error("field '" + field.from + "' of '" + packet.origin().text() + "' is of type " +
                      readable_type(pattern.type) + ", but that of '" + first.origin.text() +
                      "' is of type " + readable_type(first.type),
                  Fault::internal);
    }
    if (pattern.element != first.element || pattern.sizes != first.sizes) {
      throw Error("field '" + field.from + "' of '" + packet.origin().text() + "' is " +
                  pattern.element + shape_text(pattern.sizes) + ", but that of '" +
                  first.origin.text() + "' is " + first.element + shape_text(first.sizes) +
                  ", but all rows of a tensor must have the same size");
    }
  }
}

void CarriedFields::gather(std::span<const Packet> packets, Packet& batch) const {
  for (const Carried& field : fields_) {
    const FieldType& type = *slot_of(packets.front(), field.from).type;
    if (type.gathering.numbers != nullptr) {
      batch.set(Field<Tensor>{field.lasting_name, "*[N,...]"}, tensor_of(packets, field.from));
      continue;
    }
    std::vector<const void*> values;
    values.reserve(packets.size());
    for (const Packet& packet : packets) values.push_back(slot_of(packet, field.from).value.get());
    try {
      AnyValue gathered = type.gathering.gather(values);
      const bool has_rows = gathered.type->rows != nullptr;
      batch.put({field.lasting_name, gathered.type, std::move(gathered.value), has_rows});
    } catch (Error& error) {
      error.while_doing("collecting field '" + field.from + "' of " +
                        std::to_string(packets.size()) + " images, the first of them '" +
                        packets.front().origin().text() + "'");
      throw;
    }
  }
}

}  // namespace seam::stages
