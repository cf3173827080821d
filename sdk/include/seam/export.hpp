// SPDX-License-Identifier: Apache-2.0
/// Marks symbols that the SDK's shared library exports. Exception classes and interfaces need it on
/// both sides of a library boundary; otherwise a catch in one library may miss an exception from
/// another.
#pragma once

// A macro because an attribute cannot be named in any other way.
#define SEAM_EXPORT __attribute__((visibility("default")))
