/// A run's place in a distributed trace, which the program that starts the run passes on in the
/// environment variable TRACEPARENT (W3C Trace Context).
///
///     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
///     └ version  └ trace              caller ┘           └ flags
#pragma once

#include <string_view>

namespace seam::host {

/// Returns whether the text has the form of
/// https://www.w3.org/TR/trace-context/#traceparent-header. Texts of later versions may continue
/// after the flags.
bool is_traceparent(std::string_view text);

}  // namespace seam::host
