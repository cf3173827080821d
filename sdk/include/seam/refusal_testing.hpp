// SPDX-License-Identifier: Apache-2.0
/// Tests for errors: their fault and their message.
///
///     EXPECT_REFUSED(harness.open(), Fault::configuration, "set 'categories' to a divisor");
///
/// EXPECT_THROW(harness.open(), Error) also passes if the stage is broken, because the harness and
/// the host turn every exception of a stage into an Error. An exception of any other type becomes
/// an Error with Fault::internal whose message ends with the type: "... (a std::out_of_range)".
///
/// Needs GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "seam/error.hpp"

namespace seam::testing {
namespace detail {

[[nodiscard]] constexpr std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::configuration:
      return "Fault::configuration";
    case Fault::data:
      return "Fault::data";
    case Fault::cancelled:
      return "Fault::cancelled";
    case Fault::internal:
      break;
  }
  return "Fault::internal";
}

/// For EXPECT_REFUSED: the first three arguments are the source text of the others.
template <class Body>
[[nodiscard]] ::testing::AssertionResult refuses(const char* source, const char* /*fault*/,
                                                 const char* /*text*/, Body&& body, Fault fault,
                                                 std::string_view text) {
  std::string actual;
  try {
    std::forward<Body>(body)();
    actual = "no exception";
  } catch (const Error& error) {
    if (error.fault() == fault && std::string_view(error.what()).find(text) != text.npos) {
      return ::testing::AssertionSuccess();
    }
    actual = "an Error with " + std::string(name_of(error.fault())) + ": " + error.full_message();
  } catch (const std::exception& error) {
    actual = "an exception that is not an Error: " + std::string(error.what());
  } catch (...) {
    actual = "an exception that is not a std::exception";
  }
  return ::testing::AssertionFailure() << source << "\nExpected: an Error with " << name_of(fault)
                                       << " that contains '" << text << "'\n  Actual: " << actual;
}

}  // namespace detail
}  // namespace seam::testing

/// Fails unless `body` throws a seam::Error with exactly this fault and a message that contains
/// `text`; prints what happened instead. `<<` adds to the output, as with EXPECT_EQ.
#define EXPECT_REFUSED(body, fault, text) \
  EXPECT_PRED_FORMAT3(                    \
      ::seam::testing::detail::refuses, [&] { body; }, fault, text)
