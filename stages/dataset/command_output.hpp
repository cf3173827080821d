/// The output of a command as a file, for tars in object storage:
///
///     aws s3 cp s3://bucket/train-000.tar -  ──pipe──► a file in TMPDIR, which has no name
///
/// The file needs no removal: the system frees it when it is closed, or when the process ends in
/// any way; the command then gets SIGPIPE. Its stderr is that of the process.
#pragma once

#include <functional>

#include "stages/file_piece.hpp"

namespace seam::stages {

/// Runs the command in a shell until it ends. `name` is the file's name in messages.
///
/// Throws seam::Error if the command fails, with its exit code or signal, or if its output cannot
/// be written (data); or if `stop` returns true (cancelled). The command is then ended.
[[nodiscard]] std::shared_ptr<const OpenFile> output_of(const std::string& command,
                                                        const std::string& name,
                                                        const std::function<bool()>& stop);

}  // namespace seam::stages
