#include "stages/dataset/tar_labels.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <seam/error.hpp>
#include <vector>

#include "stages/dataset/in_quotes.hpp"

namespace seam::stages {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const TarMember& member, const std::string& what) {
  throw Error(member.content.file->name() + ": " + in_quotes(member.name) + " " + what);
}

std::string text_of(const TarMember& member) {
  constexpr std::uint64_t most = 16U << 20U;
  if (member.content.size > most) fail(member, "has more than 16 MiB");
  const std::vector<std::uint8_t> bytes = member.content.read();
  return {bytes.begin(), bytes.end()};
}

/// nullopt if there is no such field.
std::optional<std::string> value_of(const TarMember& member, const Json& object,
                                    const std::string& field) {
  const auto found = object.find(field);
  if (found == object.end()) return std::nullopt;
  std::string text = found->is_string()           ? found->get<std::string>()
                     : found->is_number_integer() ? found->dump()
                                                  : std::string();
  if (text.empty()) {
    fail(member,
         "has a field " + in_quotes(field) + ", but it is neither a text nor a whole number");
  }
  return text;
}

std::string fields_of(const Json& object) {
  std::string text;
  for (const auto& field : object.items()) {
    text += (text.empty() ? "" : ", ") + in_quotes(field.key());
  }
  return text.empty() ? "none" : text;
}

}  // namespace

SampleLabels read_cls(const TarMember& member) {
  constexpr const char* blanks = " \t\r\n";
  std::string text = text_of(member);
  text.erase(text.find_last_not_of(blanks) + 1);
  text.erase(0, text.find_first_not_of(blanks));
  if (text.empty()) fail(member, "is empty; expected a category");
  if (text.find('\n') != std::string::npos) fail(member, "has several lines; expected a category");
  return {text, text};
}

SampleLabels read_json(const TarMember& member, const LabelFields& fields) {
  const Json object = Json::parse(text_of(member), nullptr, false);
  if (!object.is_object()) fail(member, "is not a JSON object");
  const auto wanted = [&](const std::string& field, const char* parameter) {
    auto value = value_of(member, object, field);
    if (!value) {
      fail(member, "has no field " + in_quotes(field) + "; its fields are " + fields_of(object) +
                       ": set '" + parameter + "' to one of them, or labels to \"none\"");
    }
    return *std::move(value);
  };
  SampleLabels labels;
  if (!fields.item.empty()) {
    labels.item = wanted(fields.item, "item_field");
  } else if (auto label = value_of(member, object, "label")) {
    if (object.contains("item")) {
      fail(member,
           "has both a field 'item' and a field 'label'; set 'item_field' to the one that "
           "identifies the same object");
    }
    labels.item = *std::move(label);
  } else {
    labels.item = wanted("item", "item_field");
  }
  labels.category = fields.category.empty() ? value_of(member, object, "category")
                                            : wanted(fields.category, "category_field");
  return labels;
}

}  // namespace seam::stages
