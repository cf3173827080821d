#include "pipeline/report/pictures.hpp"

#include <array>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::pictures_test {

TEST(Pictures, TakesTheNewestSetWithItsFiles) {
  const test::TemporaryFolder run;
  run.write("pictures/nearest/epoch-0001.json", R"({"format":1,"kind":"neighbours","epoch":1})");
  run.write(
      "pictures/nearest/epoch-0012.json",
      R"({"format":1,"kind":"neighbours","epoch":12,"groups":[{"file":"e/a.jpg"},{"file":"e/b.png"}]})");
  run.write("pictures/nearest/e/a.jpg", "foo");
  run.write("pictures/nearest/e/b.png", "foob");
  std::vector<std::string> notes;
  const auto sets = read_pictures(run.path(), notes);
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(sets[0].at("epoch"), 12);
  EXPECT_EQ(sets[0].at("stage"), "nearest");
  EXPECT_EQ(sets[0].at("groups")[0], Json({{"picture", "data:image/jpeg;base64,Zm9v"}}));
  EXPECT_EQ(sets[0].at("groups")[1], Json({{"picture", "data:image/png;base64,Zm9vYg=="}}));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(Pictures, SaysWhatIsMissingAndReadsNothingOutsideTheFolder) {
  const test::TemporaryFolder run;
  run.write("secret.jpg", "foo");
  run.write(
      "pictures/x/epoch-0000.json",
      R"({"format":1,"kind":"fed","sheets":[{"file":"gone.jpg"},{"file":"../../secret.jpg"},{"file":"/etc/passwd"}]})");
  std::vector<std::string> notes;
  const auto sets = read_pictures(run.path(), notes);
  ASSERT_THAT(sets, SizeIs(1));
  for (const Json& sheet : sets[0].at("sheets")) {
    EXPECT_FALSE(sheet.contains("picture"));
    EXPECT_TRUE(sheet.contains("problem"));
  }
  EXPECT_THAT(sets[0].at("sheets")[1].at("problem").get<std::string>(),
              HasSubstr("is not in the run's folder"));
}

TEST(Pictures, NotesWhatItCannotShow) {
  const test::TemporaryFolder run;
  run.write("pictures/a/epoch-0000.json", R"({"format":7,"kind":"fed"})");
  run.write("pictures/b/epoch-0000.json", "{");
  run.write("pictures/c/readme.txt", "");
  std::vector<std::string> notes;
  EXPECT_THAT(read_pictures(run.path(), notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("pictures/a/epoch-0000.json has format 7"),
                                 HasSubstr("pictures/b/epoch-0000.json cannot be shown")));
}

TEST(Base64, IsThatOfTheStandard) {  // the vectors of RFC 4648, section 10
  const std::string text = "foobar";
  const std::vector<std::string> expected{"",         "Zg==",     "Zm8=",    "Zm9v",
                                          "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t size = 0; size < expected.size(); ++size) {
    EXPECT_EQ(base64(std::as_bytes(std::span(text.data(), size))), expected[size]);
  }
  constexpr std::array bytes{std::byte{0xff}, std::byte{0xfe}, std::byte{0x00}};
  EXPECT_EQ(base64(bytes), "//4A");
}

}  // namespace seam::host::pictures_test
