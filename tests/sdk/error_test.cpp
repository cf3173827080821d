#include <gtest/gtest.h>

#include <seam/error.hpp>
#include <seam/origin.hpp>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace seam::error_test {

TEST(Error, TellsTheChainFromTheInside) {
  Error error("'a.jpg' ends early", Fault::data);
  error.while_doing("decoding 'a.jpg'").while_doing("running flow 'train'");
  EXPECT_STREQ(error.what(), "'a.jpg' ends early");
  EXPECT_EQ(error.full_message(),
            "'a.jpg' ends early\n  while decoding 'a.jpg'\n  while running flow 'train'");
}

TEST(Error, IsAFaultOfTheDataUnlessSaidOtherwise) {
  EXPECT_EQ(Error("x").fault(), Fault::data);
  EXPECT_EQ(Error("x", Fault::internal).fault(), Fault::internal);
}

TEST(CaughtError, IsTheErrorThatWasThrown) {
  const auto caught = [](const auto& exception) {
    try {
      throw exception;
    } catch (...) {
      return caught_error();
    }
  };
  Error error("no such file", Fault::configuration);
  EXPECT_EQ(caught(error.while_doing("reading")).full_message(), "no such file\n  while reading");
  EXPECT_EQ(caught(error).fault(), Fault::configuration);
  EXPECT_EQ(caught(std::bad_alloc()).fault(), Fault::data);
  EXPECT_EQ(caught(std::runtime_error("CUDA out of memory")).fault(), Fault::data);
  const Error other = caught(std::out_of_range("7 of 3\nException raised from at"));
  EXPECT_STREQ(other.what(), "7 of 3 (a std::out_of_range)");
  EXPECT_EQ(other.fault(), Fault::internal);
  EXPECT_EQ(caught(7).fault(), Fault::internal);
}

TEST(Origin, SaysWhatIsKnown) {
  const auto list = std::make_shared<const std::string>("list.txt");
  EXPECT_EQ((Origin{list, 17, "img/a.jpg"}).text(), "list.txt:17 (img/a.jpg)");
  EXPECT_EQ((Origin{list, 0, ""}).text(), "list.txt");
  EXPECT_EQ((Origin{nullptr, 0, "img/a.jpg"}).text(), "img/a.jpg");
  EXPECT_EQ(Origin().text(), "an unnamed origin");
}

}  // namespace seam::error_test
