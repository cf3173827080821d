/// The output of a command as a file, for tars in object storage:
///
///     aws s3 cp s3://bucket/train-000.tar -  ──► a file in TMPDIR, which has no name
///
/// The file needs no removal: the system frees it when it is closed, or when the process ends in
/// any way.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "stages/file_piece.hpp"

namespace seam::stages {

/// Runs the command in a shell and waits for its end. `name` is the file's name in messages.
///
/// Throws seam::Error with the exit code and the end of the command's stderr if it fails (data), or
/// if `stop` returns true (cancelled), which ends the command.
[[nodiscard]] std::shared_ptr<const OpenFile> output_of(const std::string& command,
                                                        const std::string& name,
                                                        const std::function<bool()>& stop);

}  // namespace seam::stages
