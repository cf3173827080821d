#include "pipeline/cli/values_json.hpp"

#include <cmath>
#include <variant>
#include <vector>

namespace seam::host {
namespace {

struct ValueWriter {
  Json operator()(double number) const {
    return std::isfinite(number) ? Json(number) : Json(seam::to_text(Value{number}));
  }
  Json operator()(const std::vector<double>& list) const {
    Json array = Json::array();
    for (const double element : list) array.push_back((*this)(element));
    return array;
  }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

}  // namespace

Json value_json(const Value& value) {
  return std::visit(ValueWriter{}, value);
}

}  // namespace seam::host
