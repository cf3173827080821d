#include "seam/field.hpp"

#include <functional>
#include <mutex>
#include <set>

#include "seam/box.hpp"
#include "seam/retrieval.hpp"
#include "seam/shard.hpp"

namespace seam {

std::string readable_type(std::string_view type) {
  // As GCC and Clang spell them; in this order, since some contain others.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> spellings{
      {{"std::__cxx11::basic_string<char>", "std::string"},
       {"std::basic_string<char>", "std::string"},
       {"long long int", "long long"},
       {"<long>", "<std::int64_t>"},
       {"std::filesystem::__cxx11::path", "std::filesystem::path"},
       {"long unsigned int", "std::uint64_t"},
       {"unsigned long", "std::uint64_t"},
       {"long int", "std::int64_t"},
       {"unsigned char", "std::uint8_t"},
       {"at::Tensor", "torch::Tensor"},
       {" >", ">"}}};
  if (type == "long") return "std::int64_t";  // as Clang spells it
  std::string text(type);
  for (const auto& [spelling, name] : spellings) {
    for (std::size_t at = text.find(spelling); at != std::string::npos;
         at = text.find(spelling, at + name.size())) {
      text.replace(at, spelling.size(), name);
    }
  }
  return text;
}

std::string_view lasting_name(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;  // references to its elements stay valid
  const std::scoped_lock lock(mutex);
  const auto known = names.find(name);
  return known != names.end() ? *known : *names.emplace(name).first;
}

std::string_view shared_field_type(std::string_view name) {
  using Entry = std::pair<std::string_view, std::string_view>;
  const auto of = []<class T>(const Field<T>& key) { return Entry(key.name, type_name<T>()); };
  // Tensor fields by name, because this library does not depend on LibTorch.
  const auto tensor = [](std::string_view key) { return Entry(key, "at::Tensor"); };
  static const std::array shared{of(field::path),
                                 of(field::image),
                                 of(field::item),
                                 of(field::category),
                                 of(field::index),
                                 of(field::group),
                                 of(field::group_size),
                                 of(field::role),
                                 of(field::items),
                                 of(field::categories),
                                 of(field::indices),
                                 of(field::groups),
                                 of(field::roles),
                                 of(field::origins),
                                 of(field::box),
                                 of(field::rankings),
                                 of(field::packet_numbers),
                                 tensor("images"),
                                 tensor("feature_map"),
                                 tensor("capsules"),
                                 tensor(field_name::class_lengths),
                                 tensor(field_name::logits),
                                 tensor(field_name::predicted_category),
                                 tensor("embedding"),
                                 tensor(field_name::loss)};
  const auto* const found = std::ranges::find(shared, name, &Entry::first);
  return found == shared.end() ? std::string_view() : found->second;
}

}  // namespace seam
