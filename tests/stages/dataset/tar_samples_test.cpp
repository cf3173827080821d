#include "stages/dataset/tar_samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <seam/refusal_testing.hpp>

#include "tests/stages/dataset/tars.hpp"

namespace seam::stages {
namespace tar_samples_test {

using tars::end;
using tars::member;
using ::testing::ElementsAre;

std::vector<TarSample> samples(const std::vector<std::string>& names,
                               const std::set<std::string>& extensions = {"jpg", "png"}) {
  std::string tar;
  for (const std::string& name : names) tar += member(name, name);
  return read_samples(tars::opened(tar + end), extensions);
}

std::vector<std::string> pictures(const std::vector<std::string>& names,
                                  const std::set<std::string>& extensions = {"jpg", "png"}) {
  std::vector<std::string> found;
  for (const TarSample& sample : samples(names, extensions)) {
    found.push_back(sample.key + " " + sample.picture.name);
  }
  return found;
}

TEST(ReadSamples, GroupsByTheNameUpToTheFirstDot) {
  EXPECT_THAT(pictures({"1.txt", "1.jpg", "1.seg.png", "v1.2/2.PNG", "v1.2/2.cls", "v1.2/3.jpg"}),
              ElementsAre("1 1.jpg", "v1.2/2 v1.2/2.PNG", "v1.2/3 v1.2/3.jpg"));
  EXPECT_THAT(pictures({"1.left.jpg", "1.right.jpg"}, {"right.jpg"}), ElementsAre("1 1.right.jpg"));
}

TEST(ReadSamples, FindsTheLabels) {
  const auto found = samples({"1.cls", "1.jpg", "2.jpg", "2.JSON"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].cls->name, "1.cls");
  EXPECT_FALSE(found[0].json);
  EXPECT_EQ(found[1].json->name, "2.JSON");
  EXPECT_FALSE(found[1].cls);
}

TEST(ReadSamples, PassesOverWhatHasNoKey) {
  EXPECT_THAT(pictures({"__meta.json__", "README", "1.jpg", ".DS_Store", "a/._1.jpg", "1.txt"}),
              ElementsAre("1 1.jpg"));
}

TEST(ReadSamples, RefusesWhatIsNotOnePicture) {
  EXPECT_REFUSED(samples({"1.jpg", "a/2.txt", "a/2.cls"}), Fault::data,
                 "t.tar: sample 'a/2' has no picture, but 'cls', 'txt'");
  EXPECT_REFUSED(samples({"2.txt", "3.jpg"}), Fault::data, "sample '2' has no picture");
  EXPECT_REFUSED(samples({"1.jpg", "1.png"}), Fault::data,
                 "t.tar: sample '1' has several pictures, '1.jpg' and '1.png'");
}

TEST(ReadSamples, RefusesDoubledMembersAndSplitSamples) {
  EXPECT_REFUSED(samples({"1.jpg", "1.txt", "1.TXT"}), Fault::data,
                 "t.tar: sample '1' has two members ending in 'txt', the second of them '1.TXT'");
  EXPECT_REFUSED(samples({"1.jpg", "1.jpg"}), Fault::data, "two members ending in 'jpg'");
  EXPECT_REFUSED(samples({"1.jpg", "2.jpg", "1.cls"}), Fault::data,
                 "t.tar: sample '1' is in two parts of the tar, the second of them at '1.cls'");
}

}  // namespace tar_samples_test
}  // namespace seam::stages
