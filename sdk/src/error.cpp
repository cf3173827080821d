#include "seam/error.hpp"

#include <utility>

namespace seam {

Error::Error(const std::string& message, Fault fault)
    : std::runtime_error(message), fault_(fault) {}

// The key function, defined here and not in the header, so that the class has one type_info in all
// libraries.
Error::~Error() = default;

Error& Error::while_doing(std::string what) {
  chain_.push_back(std::move(what));
  return *this;
}

std::string Error::full_message() const {
  std::string text = what();
  for (const std::string& step : chain_) text += "\n  while " + step;
  return text;
}

}  // namespace seam
