// SPDX-License-Identifier: Apache-2.0
/// What Seam throws: a message for the person who must act, and the chain of what was being done.
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

/// Who can do something about it; decides the exit code of a run.
enum class Fault {
  configuration,  ///< 2: the pipeline file, a parameter, a plugin that cannot be found
  data,           ///< 3: an input (an image, a list), a file that cannot be read or written
  cancelled,      ///< 4: someone asked to stop
  internal,       ///< 5: a defect of a stage or of Seam
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
  /// Adds what was being done; returns *this so that a handler can rethrow in one line.
  Error& while_doing(std::string what);
  /// The message and the chain in one string.
  [[nodiscard]] std::string full_message() const;

 private:
  Fault fault_;
  std::vector<std::string> chain_;
};

}  // namespace seam
