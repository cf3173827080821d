// SPDX-License-Identifier: Apache-2.0
/// The conformance suite: one line next to a stage's own tests, and GoogleTest checks the
/// requirements of every stage (listed in conformance_checks.hpp).
///
///     #include <seam/conformance.hpp>
///     const auto conformance = seam::testing::conformance<Sharpen>();
///
///     const auto conformance = seam::testing::conformance<Search>({
///         .parameters = {{"k", std::int64_t{3}}},
///         .packets = [](Harness&) { return queries(); },
///         .connect = [](Harness& search) { ... search.refer("index", ...); return gallery; }});
///
/// The cases are named Conformance/STAGE.CHECK. On a machine with a GPU, a stage that computes with
/// tensors has one more: Conformance/STAGE.OnCuda runs the checks there, except that of lanes. One
/// case covers all stages of a program: Conformance.LetsTheProgramEnd. Needs GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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
    // A separate thread, because stages may change the state of their thread (LibTorch's gradient
    // mode).
    std::thread([&] { findings = check.run(candidate); }).join();
    for (auto finding = findings.begin(); finding != findings.end(); ++finding) {
      if (std::find(findings.begin(), finding, *finding) == finding) ADD_FAILURE() << *finding;
    }
  }

 private:
  std::shared_ptr<const Candidate> candidate_;
  Check check_;
};

using Candidates = std::vector<std::shared_ptr<const Candidate>>;

/// All candidates of the program.
inline Candidates& candidates() {
  static Candidates all;
  return all;
}

/// Runs all stages in a child process, because an error after main() terminates the process.
class ExitCase final : public ::testing::Test {
 public:
  void TestBody() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // for processes with threads
    expect_to_end(candidates());
    // A child runs this function as well, up to its own statement.
    if (!HasFailure() && !::testing::internal::InDeathTestChild()) return;
    for (const auto& candidate : candidates()) {
      SCOPED_TRACE(candidate->name + " alone");
      expect_to_end({candidate});
    }
  }

 private:
  static void expect_to_end(const Candidates& tried) {
    EXPECT_EXIT(
        {
          for (const auto& candidate : tried) live_once(*candidate);
          std::exit(0);  // NOLINT(concurrency-mt-unsafe): the end of the program is tested
        },
        ::testing::ExitedWithCode(0), "");
  }
};

#ifdef SEAM_WITH_TENSOR
class CudaCase final : public ::testing::Test {
 public:
  explicit CudaCase(const Candidate& candidate) : candidate_(candidate) {
    candidate_.device = "cuda:0";
    candidate_.move_to_device = [](Packet& packet) { move_tensors(packet, "cuda:0"); };
  }
  void TestBody() override {
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

/// Registers the suite for `Stage`; call it in the initialiser of a constant of the test file.
/// Returns the number of the stage's own cases.
template <class Stage>
std::size_t conformance(Example example = {}) {
  const auto candidate = std::make_shared<Candidate>(Candidate{
      std::string(Stage::name), [] { return std::make_unique<Stage>(); }, std::move(example)});
#ifdef SEAM_WITH_TENSOR
  candidate->weights = &weights_and_gradients;
  candidate->thread_settings = &thread_settings;
#endif
  // --gtest_filter treats a full stop as the end of the suite's name.
  std::string suite = "Conformance/" + candidate->name;
  if (!candidate->example.name.empty()) suite += "/" + candidate->example.name;
  std::replace(suite.begin(), suite.end(), '.', '_');
  for (const Check& check : conformance_checks()) {
    ::testing::RegisterTest(suite.c_str(), std::string(check.name).c_str(), nullptr, nullptr,
                            __FILE__, __LINE__, [candidate, check]() -> ::testing::Test* {
                              return new detail::ConformanceCase(candidate, check);
                            });
  }
  if (detail::candidates().empty()) {
    ::testing::RegisterTest("Conformance", "LetsTheProgramEnd", nullptr, nullptr, __FILE__,
                            __LINE__, []() -> ::testing::Test* { return new detail::ExitCase; });
  }
  detail::candidates().push_back(candidate);
  std::size_t cases = conformance_checks().size();
#ifdef SEAM_WITH_TENSOR
  if (has_device("cuda:0") && candidate->make()->on_compute_thread()) {
    ::testing::RegisterTest(
        suite.c_str(), "OnCuda", nullptr, nullptr, __FILE__, __LINE__,
        [candidate]() -> ::testing::Test* { return new detail::CudaCase(*candidate); });
    ++cases;
  }
#endif
  return cases;
}

}  // namespace seam::testing
