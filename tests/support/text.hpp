/// The contents of files and the messages of errors, as texts that a test compares.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "seam/error.hpp"

namespace seam::test {

inline std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The text with all occurrences of `what` replaced.
inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// The error that the action throws, with what was being done, or "no error".
template <class Action>
std::string error_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const Error& error) {
    return error.full_message();
  }
  return "no error";
}

/// The message of the exception that the action throws; empty if it throws none. Others are not
/// caught.
template <class Exception = Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace seam::test
