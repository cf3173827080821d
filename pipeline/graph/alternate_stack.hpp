/// A stack for signal handlers, so that a stack overflow can still be reported.
#pragma once

namespace seam::host {

/// Gives the calling thread an alternate stack for its lifetime. Further calls do nothing.
void use_alternate_stack();

}  // namespace seam::host
