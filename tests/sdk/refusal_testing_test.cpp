#include <gtest/gtest-spi.h>

#include <memory>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>
#include <stdexcept>
#include <string>

#include "tests/support/matchers.hpp"

namespace seam::refusal_testing_test {

/// "body", as if it had been given to EXPECT_REFUSED(body, Fault::data, "half a file").
template <class Body>
std::string complaint_about(Body&& body) {
  return testing::detail::refuses("body", "Fault::data", "\"half a file\"", body, Fault::data,
                                  "half a file")
      .message();
}

TEST(ExpectRefused, AcceptsTheFaultAndAPartOfTheMessage) {
  EXPECT_REFUSED(throw Error("'a.jpg' is half a file"), Fault::data, "half a file");
  EXPECT_REFUSED(throw Error("the stage is wrong", Fault::internal), Fault::internal, "is wrong");
}

TEST(ExpectRefused, PrintsWhatHappenedInstead) {
  EXPECT_EQ(complaint_about([] {}),
            "body\nExpected: an Error with Fault::data that contains 'half a file'\n"
            "  Actual: no exception");
  EXPECT_THAT(complaint_about([] { throw Error("half a file", Fault::configuration); }),
              HasSubstr("Actual: an Error with Fault::configuration: half a file"));
  EXPECT_THAT(complaint_about([] { throw Error("no file").while_doing("half a file"); }),
              HasSubstr("Actual: an Error with Fault::data: no file\n  while half a file"));
  EXPECT_THAT(complaint_about([] { throw std::runtime_error("half a file"); }),
              HasSubstr("Actual: an exception that is not an Error: half a file"));
  EXPECT_THAT(complaint_about([] { throw 3; }),
              HasSubstr("Actual: an exception that is not a std::exception"));
}

TEST(ExpectRefused, FailsWithTheSourceAndWhatTheTestAdds) {
  EXPECT_NONFATAL_FAILURE(EXPECT_REFUSED(static_cast<void>(0), Fault::data, "no") << "more",
                          "[&] { static_cast<void>(0); }");
  EXPECT_NONFATAL_FAILURE(EXPECT_REFUSED(static_cast<void>(0), Fault::data, "no") << "more",
                          "more");
}

class Broken final : public Transform {
 public:
  void declare(Declaration& /*d*/) override {}
  void open(Context& /*context*/) override { throw std::out_of_range("half a file"); }
  void process(Packet& /*packet*/, Context& /*context*/) override {}
};

TEST(ExpectRefused, ABrokenStageDoesNotRefuse) {
  testing::Harness harness("broken", std::make_unique<Broken>());
  EXPECT_THAT(
      complaint_about([&] { harness.open(); }),
      HasSubstr("Actual: an Error with Fault::internal: half a file (a std::out_of_range)"));
}

}  // namespace seam::refusal_testing_test
