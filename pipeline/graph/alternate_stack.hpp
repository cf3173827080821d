/// A stack for handlers of signals, so that a thread whose own one has overflowed can still say so.
#pragma once

namespace seam::host {

/// Gives the calling thread one, for as long as the thread lives. Again: does nothing.
void use_alternate_stack();

}  // namespace seam::host
