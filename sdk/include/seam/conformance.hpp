/// The conformance suite: one line beside a stage's own tests, and GoogleTest checks what every
/// stage must do (conformance_checks.hpp lists it).
///
///     #include <seam/conformance.hpp>
///     const auto conformance = seam::testing::conformance<Sharpen>();
///
///     const auto conformance = seam::testing::conformance<Search>({
///         .parameters = {{"k", std::int64_t{3}}},
///         .packets = [](Harness&) { return queries(); },
///         .connect = [](Harness& search) { ... search.refer("index", ...); return gallery; }});
///
/// The cases are called Conformance/STAGE.CHECK. Needs GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "seam/conformance_checks.hpp"

namespace seam::testing {
namespace detail {

class ConformanceCase final : public ::testing::Test {
 public:
  ConformanceCase(std::shared_ptr<const Candidate> candidate, const Check& check)
      : candidate_(std::move(candidate)), check_(check) {}
  void TestBody() override {
    Findings findings;
    // A thread of its own: stages may change the thread they run on (LibTorch's gradient mode).
    std::thread([&] { findings = check_.run(*candidate_); }).join();
    for (auto finding = findings.begin(); finding != findings.end(); ++finding) {
      if (std::find(findings.begin(), finding, *finding) == finding) ADD_FAILURE() << *finding;
    }
  }

 private:
  std::shared_ptr<const Candidate> candidate_;
  Check check_;
};

/// A process of its own, since what goes wrong after main() takes the process with it.
class ExitCase final : public ::testing::Test {
 public:
  explicit ExitCase(std::shared_ptr<const Candidate> candidate)
      : candidate_(std::move(candidate)) {}
  void TestBody() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // the process has threads: it starts anew
    EXPECT_EXIT(
        {
          live_once(*candidate_);
          std::exit(0);  // NOLINT(concurrency-mt-unsafe): what a program's end does is the question
        },
        ::testing::ExitedWithCode(0), "");
  }

 private:
  std::shared_ptr<const Candidate> candidate_;
};

}  // namespace detail

/// Registers the suite for `Stage`; call it where a test file's constants stand. Returns the number
/// of cases.
template <class Stage>
std::size_t conformance(Example example = {}) {
  const auto candidate = std::make_shared<const Candidate>(Candidate{
      std::string(Stage::name), [] { return std::make_unique<Stage>(); }, std::move(example)});
  // ctest and --gtest_filter take a full stop for the end of the suite's name.
  std::string suite = "Conformance/" + candidate->name;
  if (!candidate->example.name.empty()) suite += "/" + candidate->example.name;
  std::replace(suite.begin(), suite.end(), '.', '_');
  for (const Check& check : conformance_checks()) {
    ::testing::RegisterTest(suite.c_str(), std::string(check.name).c_str(), nullptr, nullptr,
                            __FILE__, __LINE__, [candidate, check]() -> ::testing::Test* {
                              return new detail::ConformanceCase(candidate, check);
                            });
  }
  ::testing::RegisterTest(
      suite.c_str(), "LetsTheProgramEnd", nullptr, nullptr, __FILE__, __LINE__,
      [candidate]() -> ::testing::Test* { return new detail::ExitCase(candidate); });
  return conformance_checks().size() + 1;
}

}  // namespace seam::testing
