#include "pipeline/cli/values_json.hpp"

#include <cstdint>
#include <variant>
#include <vector>

#include "pipeline/run/json.hpp"

namespace seam::host {
namespace {

struct ValueWriter {
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
  std::string operator()(double number) const { return json_number(number); }
  std::string operator()(const std::string& text) const { return json_text(text); }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    JsonArray array;
    for (const T& element : list) array.add_raw((*this)(element));
    return array.text();
  }
};

}  // namespace

std::string value_json(const Value& value) {
  return std::visit(ValueWriter{}, value);
}

}  // namespace seam::host
