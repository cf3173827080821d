#include "seam/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "archive_entry.hpp"
#include "crc64.hpp"
#include "seam/error.hpp"

// Numbers are copied as they are.
static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace seam {
namespace fs = std::filesystem;
namespace {

// Does not keep the order of the file: an ordered object searches all its keys for each new one.
using Json = nlohmann::json;

constexpr std::size_t length_size = sizeof(std::uint64_t);
// As in the format's reference implementation, which rejects larger headers.
constexpr std::uint64_t most_header = 100'000'000;
constexpr const char* metadata_key = "__metadata__";
constexpr const char* types_key = "seam.types";
constexpr const char* checksum_key = "seam.checksum";
constexpr const char* checkpoint_key = "seam.checkpoint";
constexpr std::string_view checksum_kind = "crc64:";
constexpr std::string_view no_checksum = "0000000000000000";

/// How an archive type is stored.
struct Stored {
  std::string_view type;
  std::string_view dtype;
  std::string_view as;  ///< the archive type that the dtype implies
  bool pairs = false;   ///< pairs of numbers: there is a last dimension of 2
};

// The complex types by PyTorch's names: C64 is new in the format, and most readers do not support
// it.
constexpr std::array stored_types{Stored{"bool", "BOOL", "bool"},
                                  Stored{"u8", "U8", "u8"},
                                  Stored{"i32", "I32", "i32"},
                                  Stored{"i64", "I64", "i64"},
                                  Stored{"f16", "F16", "f16"},
                                  Stored{"bf16", "BF16", "bf16"},
                                  Stored{"f32", "F32", "f32"},
                                  Stored{"f64", "F64", "f64"},
                                  Stored{"Char", "I8", "Char"},
                                  Stored{"Short", "I16", "Short"},
                                  Stored{"text", "U8", "u8"},
                                  Stored{"ComplexHalf", "F16", "f16", true},
                                  Stored{"ComplexFloat", "F32", "f32", true},
                                  Stored{"ComplexDouble", "F64", "f64", true}};

/// The archive type of a dtype; nullopt if there is none.
std::optional<std::string_view> type_of_dtype(std::string_view dtype) {
  if (dtype == "C64") return "ComplexFloat";
  const auto* const found = std::ranges::find(stored_types, dtype, &Stored::dtype);
  if (found == stored_types.end()) return std::nullopt;
  return found->as;
}

Error damaged(const fs::path& file, const std::string& how) {
  return Error("'" + file.string() + "' is damaged: " + how);
}

// ---------------------------------------------------------------------------------- writing

std::string dumped(const Json& json) {
  try {
    return json.dump();
  } catch (const nlohmann::json::exception&) {
    throw Error("a name or string in the metadata is not valid UTF-8 and cannot be saved: " +
                    json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 400),
                Fault::internal);
  }
}

struct Placed {
  const std::string* name;
  const Archive::Entry* entry;
  const Stored* stored;
};

/// In the order of the file.
std::vector<Placed> placed(const std::map<std::string, const Archive::Entry*>& tensors) {
  std::vector<Placed> order;
  for (const auto& [name, entry] : tensors) {
    if (const std::string problem = problem_with(*entry); !problem.empty()) {
      throw Error("tensor '" + name + "' " + problem, Fault::internal);
    }
    if (name == metadata_key)
      throw Error("'" + name + "' is reserved and cannot be a tensor name", Fault::internal);
    order.push_back({&name, entry, std::ranges::find(stored_types, entry->type, &Stored::type)});
  }
  std::ranges::stable_sort(order, std::greater(), [](const Placed& tensor) {
    return element_size(tensor.stored->as).value_or(0);
  });
  return order;
}

/// Length and text of the header, with zeros instead of the checksum.
std::string header_of(const std::vector<Placed>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  Json header = {{metadata_key, Json::object()}};
  Json types = Json::object();
  std::uint64_t at = 0;
  for (const Placed& tensor : tensors) {
    Json shape = tensor.entry->shape;
    if (tensor.stored->pairs) shape.push_back(2);
    if (tensor.stored->as != tensor.entry->type) types[*tensor.name] = tensor.entry->type;
    const std::uint64_t end = at + tensor.entry->bytes.size();
    header[*tensor.name] = {
        {"dtype", tensor.stored->dtype}, {"shape", std::move(shape)}, {"data_offsets", {at, end}}};
    at = end;
  }
  Json& notes = header[metadata_key];
  for (const auto& [key, value] : metadata) notes[key] = value;
  if (!types.empty()) notes[types_key] = dumped(types);
  notes[checksum_key] = std::string(checksum_kind) + std::string(no_checksum);
  std::string text = dumped(header);
  while (text.size() % length_size != 0) text += ' ';
  if (text.size() > most_header) {
    throw Error("the names and metadata of " + std::to_string(tensors.size()) + " tensors take " +
                    std::to_string(text.size()) + " bytes, more than the " +
                    std::to_string(most_header) + " that a safetensors header may have",
                Fault::internal);
  }
  std::string length(length_size, '\0');
  const std::uint64_t size = text.size();
  std::memcpy(length.data(), &size, length_size);
  return length + text;
}

/// The position of the checksum's digits in a header; npos if there is no checksum. Only a key can
/// match, because quotes within strings are escaped.
std::size_t checksum_place(std::string_view header) {
  const std::string before = '"' + std::string(checksum_key) + "\":\"" + std::string(checksum_kind);
  const std::size_t found = header.find(before);
  if (found == std::string_view::npos) return found;
  const std::size_t digits = found + before.size();
  return digits + no_checksum.size() <= header.size() ? digits : std::string_view::npos;
}

std::string hexadecimal(std::uint64_t number) {
  std::string text(no_checksum);
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4U) {
    *digit = "0123456789abcdef"[number & 0xFU];
  }
  return text;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// ---------------------------------------------------------------------------------- reading

/// Parses the header, rejecting JSON that the format does not allow.
Json parse_header(std::string_view text, const fs::path& file) {
  constexpr int deepest = 3;  // {"name": {"shape": [
  std::vector<std::set<std::string>> names;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > deepest) throw damaged(file, "its header is nested too deeply");
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!names.back().insert(name).second) {
        throw damaged(file, "its header has two keys '" + name + "'");
      }
    }
    return true;
  };
  try {
    Json header = Json::parse(text, check);
    if (!header.is_object()) throw damaged(file, "its header is not a JSON object");
    return header;
  } catch (const nlohmann::json::exception& error) {
    throw damaged(file, std::string("its header is not JSON: ") + error.what());
  }
}

std::map<std::string, std::string> texts_of(const Json& object, const std::string& what,
                                            const fs::path& file) {
  std::map<std::string, std::string> texts;
  if (!object.is_object()) throw damaged(file, what + " is not a JSON object");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) throw damaged(file, what + " has '" + key + "', which is not a string");
    texts.emplace(key, value.get<std::string>());
  }
  return texts;
}

/// A tensor as the header describes it.
struct Described {
  std::string name;
  Archive::Entry entry;  ///< without its bytes
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Described described(const std::string& name, const Json& json, const fs::path& file) {
  const auto fault = [&](const std::string& how) {
    return damaged(file, "tensor '" + name + "' " + how);
  };
  const auto number = [&](const Json& value, const char* what) {
    if (!value.is_number_unsigned()) {
      throw fault(std::string("has ") + what + ' ' + value.dump() +
                  ", which is not a whole number");
    }
    return value.get<std::uint64_t>();
  };
  if (!json.is_object()) throw fault("is not a JSON object");
  Described tensor{name, {}, 0, 0};
  for (const auto& [key, value] : json.items()) {
    if (key == "dtype" && value.is_string()) {
      const auto dtype = value.get<std::string>();
      const auto type = type_of_dtype(dtype);
      if (!type) {
        throw Error("'" + file.string() + "': tensor '" + name + "' has elements of type " + dtype +
                    ", which Seam does not read; convert it in Python, for example to float32");
      }
      tensor.entry.type = *type;
    } else if (key == "shape" && value.is_array()) {
      for (const Json& size : value) {
        const std::uint64_t whole = number(size, "a dimension of size");
        if (whole > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
          throw fault("has a dimension of " + std::to_string(whole) +
                      " elements, more than memory can hold");
        }
        tensor.entry.shape.push_back(static_cast<std::int64_t>(whole));
      }
    } else if (key == "data_offsets" && value.is_array() && value.size() == 2) {
      tensor.begin = number(value[0], "an offset");
      tensor.end = number(value[1], "an offset");
    } else {
      throw fault("has an unexpected '" + key + "': " + value.dump().substr(0, 80));
    }
  }
  if (json.size() != 3) throw fault("lacks one of dtype, shape and data_offsets");
  return tensor;
}

/// Checks the tensors' positions against each other and the available bytes.
void check_places(std::vector<Described>& tensors, std::uint64_t before, std::uint64_t available,
                  const fs::path& file) {
  std::ranges::sort(tensors, [](const Described& a, const Described& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const Described& tensor : tensors) {
    if (tensor.begin != at || tensor.end < tensor.begin) {
      throw damaged(file, "tensor '" + tensor.name + "' takes bytes " +
                              std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) +
                              ", but the one before it ends at " + std::to_string(at));
    }
    at = tensor.end;
  }
  if (at > available) {
    const std::string whole = at > std::numeric_limits<std::uint64_t>::max() - before
                                  ? "more than 2^64"
                                  : std::to_string(before + at);
    throw damaged(file,
                  "it has " + std::to_string(before + available) + " of its " + whole + " bytes");
  }
  if (at < available) {
    throw damaged(
        file, "it has " + std::to_string(available - at) + " extra bytes after its last tensor");
  }
}

/// Restores the original type of a tensor that is stored under a different one.
void restore_type(Archive::Entry& entry, const std::string& name, const std::string& type,
                  const fs::path& file) {
  const auto* const stored = std::ranges::find(stored_types, type, &Stored::type);
  const bool pairs = !entry.shape.empty() && entry.shape.back() == 2;
  if (stored == stored_types.end() || stored->as == stored->type || stored->as != entry.type ||
      (stored->pairs && !pairs)) {
    throw damaged(file, "the metadata says that tensor '" + name + "' has type '" + type +
                            "', which is not stored as " + entry.type);
  }
  if (stored->pairs) entry.shape.pop_back();
  entry.type = type;
}

void check_checksum(std::span<const std::byte> bytes, std::size_t header_end,
                    const std::string& said, const fs::path& file) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), header_end);
  const std::size_t place = checksum_place(start);
  std::string sum;
  if (place != std::string_view::npos) {
    Crc64 checksum;
    checksum.add(bytes.first(place));
    checksum.add(bytes_of(no_checksum));
    checksum.add(bytes.subspan(place + no_checksum.size()));
    sum = std::string(checksum_kind) + hexadecimal(checksum.value());
  }
  if (sum == said) return;
  throw damaged(
      file,
      std::string(
          "its checksum does not match its content; a program that modifies a file must remove '") +
          checksum_key + "' from the metadata");
}

/// A file in a known different format gets its own message instead of being called damaged.
void refuse_other_kinds(std::span<const std::byte> bytes, const fs::path& file) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 8));
  if (start.starts_with("PK\x03\x04") || start.starts_with("\x80\x02")) {
    throw Error("'" + file.string() +
                    "' was written by torch.save and can only be read by Python; convert it there: "
                    "safetensors.torch.save_file(torch.load(FILE, weights_only=True), "
                    "\"weights.safetensors\")",
                Fault::configuration);
  }
}

/// The bytes of a file. Throws seam::Error with the system's reason.
std::vector<std::byte> read_file(const fs::path& path) {
  const auto fault = [&](const std::string& reason) {
    return Error("cannot read '" + path.string() + "': " + reason);
  };
  std::error_code error;
  if (fs::is_directory(path, error)) throw fault("it is a folder");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) throw fault(error.message());
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw fault(std::generic_category().message(errno));
  std::vector<std::byte> bytes(size);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(stream.gcount()) != size) {
    throw fault("the file ended early while it was being read");
  }
  return bytes;
}

}  // namespace

void write_safetensors(const std::map<std::string, const Archive::Entry*>& tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<void(std::span<const std::byte>)>& write) {
  const std::vector<Placed> order = placed(tensors);
  std::string header = header_of(order, metadata);
  Crc64 checksum;
  checksum.add(bytes_of(header));
  for (const Placed& tensor : order) checksum.add(tensor.entry->bytes);
  header.replace(checksum_place(header), no_checksum.size(), hexadecimal(checksum.value()));
  write(bytes_of(header));
  for (const Placed& tensor : order) write(tensor.entry->bytes);
}

std::vector<std::byte> safetensors_bytes(const Safetensors& content) {
  std::map<std::string, const Archive::Entry*> tensors;
  for (const auto& [name, entry] : content.tensors) tensors.emplace(name, &entry);
  std::vector<std::byte> bytes;
  write_safetensors(tensors, content.metadata, [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, const fs::path& file) {
  refuse_other_kinds(bytes, file);
  if (bytes.size() < length_size) {
    throw damaged(file, "it ends after " + std::to_string(bytes.size()) + " bytes");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_size);
  const std::uint64_t behind = bytes.size() - length_size;
  if (length > behind) {
    throw damaged(file, "its header takes " + std::to_string(length) + " bytes, but " +
                            std::to_string(behind) + " are left");
  }
  if (length > most_header) {
    throw damaged(file, "its header takes " + std::to_string(length) + " bytes; the maximum is " +
                            std::to_string(most_header));
  }
  const std::size_t data_at = length_size + static_cast<std::size_t>(length);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + length_size,
                              static_cast<std::size_t>(length));
  if (!text.starts_with('{')) throw damaged(file, "its header does not begin with '{'");

  Safetensors content;
  std::vector<Described> tensors;
  const Json header = parse_header(text, file);
  for (const auto& [name, value] : header.items()) {
    if (name == metadata_key) {
      content.metadata = texts_of(value, "its metadata", file);
    } else {
      tensors.push_back(described(name, value, file));
    }
  }
  check_places(tensors, data_at, behind - length, file);
  if (auto checksum = content.metadata.extract(checksum_key); !checksum.empty()) {
    check_checksum(bytes, data_at, checksum.mapped(), file);
  } else if (content.metadata.contains(types_key) || content.metadata.contains(checkpoint_key)) {
    throw damaged(file, std::string("its metadata lacks '") + checksum_key + "'");
  }
  for (Described& tensor : tensors) {
    const auto data = bytes.subspan(data_at + static_cast<std::size_t>(tensor.begin),
                                    static_cast<std::size_t>(tensor.end - tensor.begin));
    tensor.entry.bytes.assign(data.begin(), data.end());
    if (const std::string problem = problem_with(tensor.entry); !problem.empty()) {
      throw damaged(file, "tensor '" + tensor.name + "' " + problem);
    }
    content.tensors.emplace(tensor.name, std::move(tensor.entry));
  }
  if (const auto types = content.metadata.extract(types_key); !types.empty()) {
    for (const auto& [name, type] : texts_of(parse_header(types.mapped(), file), types_key, file)) {
      const auto found = content.tensors.find(name);
      if (found == content.tensors.end()) {
        throw damaged(file, "it gives a type for '" + name + "', which is not in the file");
      }
      restore_type(found->second, name, type, file);
    }
  }
  return content;
}

Safetensors read_safetensors(const fs::path& file) {
  return parse_safetensors(read_file(file), file);
}

}  // namespace seam
