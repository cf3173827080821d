#include "seam/error.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <typeinfo>
#include <utility>

#include "out_of_memory.hpp"
#include "stack_frames.hpp"

namespace seam {
namespace {

/// "std::out_of_range": the reader of the message may not know C++, but the developer of the stage
/// does.
std::string type_of(const std::exception& error) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, nullptr), &std::free);
  return name ? name.get() : typeid(error).name();
}

}  // namespace

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

Error caught_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return host::out_of_memory();
  } catch (const std::exception& error) {
    const std::string message = host::without_frames(error.what());
    if (host::is_out_of_memory(message)) return host::out_of_memory(message);
    return Error(message + " (a " + type_of(error) + ")", Fault::internal);
  } catch (...) {
    return Error("the stage threw an exception that is not a std::exception", Fault::internal);
  }
}

}  // namespace seam
