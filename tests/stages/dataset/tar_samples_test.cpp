#include "stages/dataset/tar_samples.hpp"

#include "tests/stages/dataset/tars.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::tar_samples_test {

using tars::end;
using tars::member;

std::vector<TarSample> samples(const std::vector<std::string>& names) {
  std::string tar;
  for (const std::string& name : names) tar += member(name, name);
  return read_samples(tars::opened(tar + end), {});
}

std::vector<std::string> pictures(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const TarSample& sample : samples(names)) found.push_back(sample.picture.name);
  return found;
}

/// Item and category of a sample with the given labels in `cls` and `json`.
std::string read(const std::string& cls, const std::string& json, const LabelSources& sources) {
  const std::string tar = member("a/1.cls", cls) + member("a/1.jpg", "") + member("a/1.JSON", json);
  const TarSample sample = read_samples(tars::opened(tar + end), sources).at(0);
  return sample.item + "/" + sample.category;
}

const LabelSource none;
const LabelSource cls{"cls", ""};
const LabelSource json_id{"json", "id"};

TEST(ReadSamples, GroupsByTheNameUpToTheFirstDot) {
  EXPECT_THAT(pictures({"1.txt", "1.jpg", "1.seg.png", "v1.2/2.PNG", "v1.2/2.cls", "v1.2/3.jpg"}),
              ElementsAre("1.jpg", "v1.2/2.PNG", "v1.2/3.jpg"));
  EXPECT_EQ(read("7", "{}", {none, none}), "/");
  EXPECT_THAT(pictures({"__meta.json__", "README", "1.jpg", ".DS_Store", "a/._1.jpg", "1.txt"}),
              ElementsAre("1.jpg"));
}

TEST(ReadSamples, ReadsCls) {
  for (const char* text : {"tench", " tench\n", "tench \r\n"}) {
    EXPECT_EQ(read(text, "", {cls, cls}), "tench/tench");
  }
  EXPECT_EQ(read("sea lion", "", {none, cls}), "/sea lion");
  for (const char* text : {"7", "07\n", " 7"}) EXPECT_EQ(read(text, "", {cls, cls}), "7/7");
  EXPECT_EQ(read("-0", "", {cls, none}), "0/");
  EXPECT_EQ(read("7.0", "", {cls, none}), "7.0/");
}

TEST(ReadSamples, ReadsFieldsOfJson) {
  const char* const text = R"({"id": "id_7", "kind": -3, "width": 2.5})";
  EXPECT_EQ(read("boots", text, {json_id, {"json", "kind"}}), "id_7/-3");
  EXPECT_EQ(read("boots", text, {json_id, cls}), "id_7/boots");
  EXPECT_EQ(read("", R"({"id": "007"})", {json_id, none}), "007/");
}

TEST(ReadSamples, RefusesOtherLabelsByName) {
  const auto refused = [](const std::string& text, const std::string& json,
                          const LabelSource& source, const std::string& why) {
    EXPECT_REFUSED((void)read(text, json, {source, none}), Fault::data,
                   "t.tar: sample 'a/1' " + why);
    EXPECT_REFUSED((void)read(text, json, {none, source}), Fault::data,
                   "t.tar: sample 'a/1' " + why);
  };
  refused(" \n", "", cls, "has an empty label");
  for (const char* text : {"1\n2\n", "a\n\n", "a\tb",
                           "\xef\xbb\xbf"
                           "7"}) {
    refused(text, "", cls, "has the label '");
  }
  refused("", R"({"id": "a\nb"})", json_id, "has the label 'a?b', which contains line ends");
  for (const char* json : {"", "{", "[]", "3", R"({"id": "a"} x)"}) {
    refused("", json, json_id, "has a member 'json' that is not a JSON object");
  }
  refused("", R"({"url": "a", "width": 3})", json_id,
          "has no field 'id' in 'json'; its fields are 'url', 'width'");
  refused("", R"({"id": ""})", json_id, "has an empty label");
  for (const char* value : {"2.5", "true", "null", "[]", "{}"}) {
    refused("", std::string("{\"id\": ") + value + "}", json_id,
            "has a field 'id' that is neither a text nor a whole number");
  }
  EXPECT_REFUSED((void)read_samples(tars::opened(member("2.txt", "") + member("2.jpg", "") + end),
                                    {cls, none}),
                 Fault::data,
                 "t.tar: sample '2' has no member 'cls' with a label, but 'jpg', 'txt'");
}

TEST(ReadSamples, RefusesWhatIsNotOnePictureAndWholeSamples) {
  EXPECT_REFUSED(samples({"1.jpg", "a/2.txt", "a/2.cls"}), Fault::data,
                 "t.tar: sample 'a/2' has no picture, but 'cls', 'txt'");
  EXPECT_REFUSED(samples({"2.txt", "3.jpg"}), Fault::data, "sample '2' has no picture");
  EXPECT_REFUSED(samples({"1.jpg", "1.png"}), Fault::data,
                 "t.tar: sample '1' has several pictures, '1.jpg' and '1.png'");
  EXPECT_REFUSED(samples({"1.jpg", "1.txt", "1.TXT"}), Fault::data,
                 "t.tar: sample '1' has two members ending in 'txt', the second of them '1.TXT'");
  EXPECT_REFUSED(samples({"1.jpg", "1.jpg"}), Fault::data, "two members ending in 'jpg'");
  EXPECT_REFUSED(samples({"1.jpg", "2.jpg", "1.cls"}), Fault::data,
                 "t.tar: sample '1' is in two parts of the tar, the second of them at '1.cls'");
}

}  // namespace seam::stages::tar_samples_test
