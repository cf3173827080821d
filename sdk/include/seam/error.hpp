// SPDX-License-Identifier: Apache-2.0
/// Seam's exception: a message for the person who has to act, and the context in which the error
/// occurred.
///
///     throw seam::Error("'a.jpg' ends after 812 of its bytes; fetch the file again");
///
/// Callers that know more add it on the way up with `while_doing`, so that the report reads
/// "cause, while decoding 'a.jpg', in stage 'decode' (image.decode)".
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "seam/export.hpp"

namespace seam {

/// Who can fix it; determines the exit code of a run.
enum class Fault {
  configuration,  ///< 2: the pipeline file, a parameter, a plugin that cannot be found
  data,           ///< 3: an input (an image, a list), a file that cannot be read or written
  cancelled,      ///< 4: stopped on request
  internal,       ///< 5: a bug in a stage or in Seam
};

class SEAM_EXPORT Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Fault fault = Fault::data);
  Error(const Error&) = default;
  Error(Error&&) = default;
  Error& operator=(const Error&) = default;
  Error& operator=(Error&&) = default;
  ~Error() override;

  [[nodiscard]] Fault fault() const { return fault_; }
  /// Innermost first: "decoding 'a.jpg'", "stage 'decode' (image.decode)".
  [[nodiscard]] const std::vector<std::string>& chain() const { return chain_; }
  /// Adds the current activity; returns *this so that a handler can rethrow in one line.
  Error& while_doing(std::string what);
  /// The message and the chain in one string.
  [[nodiscard]] std::string full_message() const;

 private:
  Fault fault_;
  std::vector<std::string> chain_;
};

/// For a `catch`: the exception that was caught, as an error. A lack of memory is Fault::data, and
/// any other exception than seam::Error is Fault::internal.
[[nodiscard]] SEAM_EXPORT Error caught_error();

}  // namespace seam
