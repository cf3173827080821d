/// The contents of files and the messages of errors, as texts that a test compares.
#pragma once

#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace seam::test {

inline std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The message of the exception that the action throws; empty if it throws none.
template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace seam::test
