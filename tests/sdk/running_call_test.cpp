/// A stage that ends the program fails the test that runs it, and the conformance suite.
#include "sdk/src/running_call.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <seam/conformance_checks.hpp>
#include <seam/testing.hpp>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "tests/support/kept_environment.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::running_call_test {

using testing::Harness;

constexpr Field<std::int64_t> number{"number"};
constexpr int internal_error = 5;

enum class Call : std::uint8_t { open, begin, process, end, close };
enum class Way : std::uint8_t { exit, quick_exit, at_once };

class Ending final : public Transform {
 public:
  static constexpr std::string_view name = "test.ending";
  Ending(Call call, Way way) : call_(call), way_(way) {}
  void declare(Declaration& d) override {
    d.doc("Ends the program.");
    d.needs(number);
  }
  void open(Context& /*context*/) override { reached(Call::open); }
  void begin(Context& /*context*/) override { reached(Call::begin); }
  void process(Packet& /*packet*/, Context& /*context*/) override { reached(Call::process); }
  void end(Context& /*context*/) override { reached(Call::end); }
  void close() override { reached(Call::close); }

 private:
  void reached(Call call) const {
    if (call != call_) return;
    switch (way_) {
      case Way::exit:
        std::exit(0);  // NOLINT(concurrency-mt-unsafe)
      case Way::quick_exit:
        std::quick_exit(0);
      case Way::at_once:
        ::_exit(0);
    }
  }
  Call call_;
  Way way_;
};

class RunningCallTest : public ::testing::TestWithParam<std::tuple<Call, Way>> {
 protected:
  RunningCallTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // forked children are not checked
    ::setenv("TMPDIR", folder_.path().c_str(), 1);   // of children, which remove nothing
  }

  [[nodiscard]] static std::unique_ptr<Stage> stage() {
    return std::make_unique<Ending>(std::get<0>(GetParam()), std::get<1>(GetParam()));
  }

 private:
  test::TemporaryFolder folder_;
  test::KeptEnvironment environment_;
};

TEST_P(RunningCallTest, AStageThatEndsTheProgramFailsItsTest) {
  EXPECT_EXIT(
      {
        Harness harness("ending", stage());
        Packet packet;
        packet.set(number, 1);
        harness.push(std::move(packet)).finish().close();
        ::_exit(0);
      },
      ::testing::ExitedWithCode(internal_error), "stage 'ending' .* ended the program while ");
}

TEST_P(RunningCallTest, AndTheConformanceSuite) {
  EXPECT_EXIT(
      {
        testing::Candidate candidate;
        candidate.name = Ending::name;
        candidate.make = stage;
        for (const testing::Check& check : testing::conformance_checks()) {
          (void)check.run(candidate);
        }
        ::_exit(0);
      },
      ::testing::ExitedWithCode(internal_error), "stage 'test.ending' .* ended the program while ");
}

INSTANTIATE_TEST_SUITE_P(
    Calls, RunningCallTest,
    ::testing::Combine(::testing::Values(Call::open, Call::begin, Call::process, Call::end,
                                         Call::close),
                       ::testing::Values(Way::exit, Way::quick_exit, Way::at_once)));

TEST(RunningCall, WhileARunIsUnderWayNoThreadMayEndTheProgramButTheHost) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto told = [](const host::RunningCall* /*call*/) {};
  EXPECT_EXIT(
      {
        host::tell_of_stages_that_end_the_program(told);
        std::thread([] { std::exit(0); }).join();  // NOLINT(concurrency-mt-unsafe)
      },
      ::testing::ExitedWithCode(internal_error), "a thread of a plugin ended the program");
  EXPECT_EXIT(
      {
        host::tell_of_stages_that_end_the_program(told);
        host::end_program(4);
      },
      ::testing::ExitedWithCode(4), "");
}

}  // namespace seam::running_call_test
