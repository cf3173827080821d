/// Lines of comma-separated values, as in RFC 4180.
///
///     csv_line({"a.jpg", "3", "the \"best\""})     a.jpg,3,"the ""best"""
#pragma once

#include <string>
#include <vector>

namespace seam::stages {

/// One line including its end, "\n", which every reader accepts. Values with commas, quotes or line
/// breaks are quoted, and those that begin or end with a blank.
std::string csv_line(const std::vector<std::string>& values);

/// The shortest text that is read as the same float.
std::string csv_number(float number);

}  // namespace seam::stages
