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
/// The cases are called Conformance/STAGE.CHECK. A stage that computes with tensors has one more,
/// Conformance/STAGE.OnCuda: all checks once more on a GPU, skipped where there is none. Needs
/// GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "seam/conformance_checks.hpp"
#ifdef SEAM_WITH_TENSOR
#include "seam/tensor_testing.hpp"
#endif

namespace seam::testing {
namespace detail {

class ConformanceCase final : public ::testing::Test {
 public:
  ConformanceCase(std::shared_ptr<const Candidate> candidate, const Check& check)
      : candidate_(std::move(candidate)), check_(check) {}
  void TestBody() override { expect_none(*candidate_, check_); }

  static void expect_none(const Candidate& candidate, const Check& check) {
    Findings findings;
    // A thread of its own: stages may change the thread they run on (LibTorch's gradient mode).
    std::thread([&] { findings = check.run(candidate); }).join();
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

#ifdef SEAM_WITH_TENSOR
/// One case for all checks, so that suites are of the same size with a GPU and without.
class CudaCase final : public ::testing::Test {
 public:
  explicit CudaCase(const Candidate& candidate) : candidate_(candidate) {
    candidate_.device = "cuda:0";
    candidate_.move_to_device = [](Packet& packet) { move_tensors(packet, "cuda:0"); };
  }
  void TestBody() override {
    if (!has_device(candidate_.device)) GTEST_SKIP() << no_such_device(candidate_.device);
    for (const Check& check : conformance_checks()) {
      SCOPED_TRACE(check.name);
      ConformanceCase::expect_none(candidate_, check);
    }
  }

 private:
  Candidate candidate_;
};
#endif

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
  std::size_t cases = conformance_checks().size() + 1;
#ifdef SEAM_WITH_TENSOR
  if (candidate->make()->on_compute_thread()) {
    ::testing::RegisterTest(
        suite.c_str(), "OnCuda", nullptr, nullptr, __FILE__, __LINE__,
        [candidate]() -> ::testing::Test* { return new detail::CudaCase(*candidate); });
    ++cases;
  }
#endif
  return cases;
}

}  // namespace seam::testing
