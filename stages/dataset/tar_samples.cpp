#include "stages/dataset/tar_samples.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "stages/counted.hpp"
#include "stages/dataset/picture_extensions.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

using Json = nlohmann::json;

/// A member of a sample: "a/000.left.JPG" has the key "a/000" and the ending "left.jpg".
struct SamplePart {
  std::string key;
  std::string ending;
  TarMember member;
};

/// nullopt if it belongs to no sample.
std::optional<SamplePart> part_of(TarMember member) {
  const std::string& name = member.name;
  const std::size_t base = name.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = name.find('.', base);
  const bool meta = base == 0 && name.starts_with("__") && name.ends_with("__");
  if (dot == std::string::npos || dot == base || meta) return std::nullopt;
  std::string key = name.substr(0, dot);
  std::string ending = lower(name.substr(dot + 1));
  return SamplePart{std::move(key), std::move(ending), std::move(member)};
}

template <class Map>
std::string keys_of(const Map& map) {
  return first_of(map, map.size(), [](const auto& entry) { return in_quotes(entry.first); });
}

/// The members of one sample, which have its key.
class Sample {
 public:
  explicit Sample(std::span<const SamplePart> parts) : key_(parts.front().key) {
    for (const SamplePart& part : parts) {
      if (endings_.emplace(part.ending, &part.member).second) continue;
      fail("has two members ending in " + in_quotes(part.ending) + ", the second of them " +
           in_quotes(part.member.name));
    }
  }

  [[nodiscard]] TarMember picture() const {
    static const std::vector<std::string> pictures = usual_extensions();
    const TarMember* found = nullptr;
    for (const auto& [ending, member] : endings_) {
      if (std::find(pictures.begin(), pictures.end(), ending) == pictures.end()) continue;
      if (found != nullptr) {
        fail("has several pictures, " + in_quotes(found->name) + " and " + in_quotes(member->name) +
             "; pack one of them");
      }
      found = member;
    }
    if (found == nullptr) fail("has no picture, but " + keys_of(endings_));
    return *found;
  }

  [[nodiscard]] std::string label(const LabelSource& source) const {
    if (source.ending.empty()) return "";
    const auto found = endings_.find(source.ending);
    if (found == endings_.end()) {
      fail("has no member " + in_quotes(source.ending) + " with a label, but " + keys_of(endings_));
    }
    const std::string content = text_of(*found->second);
    return source.ending == "json" ? value_in(content, source.field) : text_in(content);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const auto& member = *endings_.begin()->second;
    throw Error(member.content.file->name() + ": sample " + in_quotes(key_) + " " + what);
  }

  [[nodiscard]] std::string text_of(const TarMember& member) const {
    constexpr std::uint64_t most = 16U << 20U;
    if (member.content.size > most) fail("has more than 16 MiB in " + in_quotes(member.name));
    const std::vector<std::uint8_t> bytes = member.content.read();
    return {bytes.begin(), bytes.end()};
  }

  [[nodiscard]] std::string text_in(std::string text) const {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    text.erase(text.find_last_not_of(' ') + 1);
    text.erase(0, text.find_first_not_of(' '));
    const auto number = number_in<std::int64_t>(text);
    return number ? std::to_string(*number) : checked(std::move(text));
  }

  [[nodiscard]] std::string value_in(const std::string& text, const std::string& field) const {
    const Json object = Json::parse(text, nullptr, false);
    if (!object.is_object()) fail("has a member 'json' that is not a JSON object");
    const auto value = object.find(field);
    if (value == object.end()) {
      const std::string fields = keys_of(object.get_ref<const Json::object_t&>());
      fail("has no field " + in_quotes(field) + " in 'json'; its fields are " +
           (fields.empty() ? "none" : fields));
    }
    if (value->is_number_integer()) return value->dump();
    if (value->is_string()) return checked(value->get<std::string>());
    fail("has a field " + in_quotes(field) + " that is neither a text nor a whole number");
  }

  /// Refuses texts that are not names.
  [[nodiscard]] std::string checked(std::string text) const {
    const auto unprintable = [](char c) { return static_cast<unsigned char>(c) < ' '; };
    if (text.empty()) fail("has an empty label");
    if (text.starts_with("\xef\xbb\xbf") || std::any_of(text.begin(), text.end(), unprintable)) {
      fail("has the label " + in_quotes(text) +
           ", which contains line ends, control characters or a byte order mark; expected a name "
           "or a number");
    }
    return text;
  }

  std::string key_;
  std::map<std::string_view, const TarMember*> endings_;
};

}  // namespace

std::vector<TarSample> read_samples(const std::shared_ptr<const OpenFile>& tar,
                                    const LabelSources& labels, std::function<bool()> stop) {
  std::vector<SamplePart> parts;
  TarReader reader(tar, std::move(stop));
  while (auto member = reader.next()) {
    if (auto part = part_of(*std::move(member))) parts.push_back(*std::move(part));
  }
  std::vector<TarSample> samples;
  std::unordered_set<std::string_view> keys;
  for (auto first = parts.begin(); first != parts.end();) {
    const auto last = std::find_if(first, parts.end(),
                                   [&](const SamplePart& part) { return part.key != first->key; });
    if (!keys.insert(first->key).second) {
      throw Error(tar->name() + ": sample " + in_quotes(first->key) +
                  " is in two parts of the tar, the second of them at " +
                  in_quotes(first->member.name) +
                  "; the members of a sample must follow each other: pack them in the order of "
                  "their names, with tar --sort=name");
    }
    const Sample sample({first, last});
    TarMember picture = sample.picture();
    std::string item = sample.label(labels.item);
    std::string category =
        labels.category == labels.item ? item : sample.label(labels.category);  // reads the tar
    samples.push_back({std::move(picture), std::move(item), std::move(category)});
    first = last;
  }
  return samples;
}

}  // namespace seam::stages
