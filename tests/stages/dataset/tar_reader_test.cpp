#include "stages/dataset/tar_reader.hpp"

#include <fstream>

#include "tests/stages/dataset/tars.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::tar_reader_test {

using tars::Content;
using tars::contents;
using tars::end;
using tars::header;
using tars::member;
using tars::padded;
using tars::record;
using tars::summed;

const std::string long_name = std::string(90, 'x') + "/" + std::string(120, 'y') + ".jpg";

void expect_refused(const std::string& tar, const std::string& why) {
  EXPECT_REFUSED((void)contents(tar), Fault::data, why);
}

TEST(TarReader, ReadsTheFilesInOrder) {
  EXPECT_THAT(contents(member("b.jpg", std::string(600, 'b')) + member("./a/a.jpg", "a") +
                       member("empty", "") + end),
              ElementsAre(Content{"b.jpg", std::string(600, 'b')}, Content{"a/a.jpg", "a"},
                          Content{"empty", ""}));
  EXPECT_THAT(contents(end), IsEmpty());
}

TEST(TarReader, ReadsThePrefixOfPosix) {
  std::string split = header("a.jpg", 1);
  split.replace(345, 10, "deep/below");
  EXPECT_THAT(contents(summed(split) + padded("1") + end),
              ElementsAre(Content{"deep/below/a.jpg", "1"}));
  split.replace(257, 8, std::string("ustar  \0", 8));  // GNU: times are at this place
  EXPECT_THAT(contents(summed(split) + padded("1") + end), ElementsAre(Content{"a.jpg", "1"}));
}

TEST(TarReader, ReadsVersion7) {
  std::string old = header("a.jpg", 3, '\0');
  old.replace(257, 8, std::string(8, '\0'));
  old.replace(124, 12, "          3 ");
  std::string folder = header("below/", 700, '\0');
  folder.replace(257, 8, std::string(8, '\0'));
  EXPECT_THAT(contents(summed(folder) + summed(old) + padded("abc") + end),
              ElementsAre(Content{"a.jpg", "abc"}));
  EXPECT_THAT(contents(header("./", 0, '\0') + end), IsEmpty());
}

TEST(TarReader, AcceptsSumsOfSignedBytes) {
  const std::string bytes = header("\xc3\xa4.jpg", 1);
  EXPECT_NE(summed(bytes), summed<signed char>(bytes));
  EXPECT_THAT(contents(summed<signed char>(bytes) + padded("1") + end),
              ElementsAre(Content{"\xc3\xa4.jpg", "1"}));
}

TEST(TarReader, ReadsLongNames) {
  const std::string gnu = member("././@LongLink", long_name + std::string(1, '\0'), 'L');
  const std::string link = member("././@LongLink", std::string(200, 'l'), 'K');
  const std::string pax =
      member("PaxHeaders/a", record("mtime", "1.5") + record("path", long_name), 'x');
  for (const std::string& before : {gnu, pax, link + gnu}) {
    EXPECT_THAT(contents(before + member("cut", "1") + member("next", "2") + end),
                ElementsAre(Content{long_name, "1"}, Content{"next", "2"}));
  }
}

TEST(TarReader, TakesTheHeadersNameIfThatOfPaxIsEmpty) {
  const std::string pax = member("p", record("path", "b") + record("path", ""), 'x');
  EXPECT_THAT(contents(pax + member("a", "1") + end), ElementsAre(Content{"a", "1"}));
}

TEST(TarReader, ReadsSizesOfPaxAndInBase256) {
  const std::string pax = member("PaxHeaders/a", record("size", "3"), 'x');
  const std::string gnu = member("././@LongLink", std::string("long\0", 5), 'L');
  EXPECT_THAT(contents(pax + gnu + header("a", 0) + padded("abc") + end),
              ElementsAre(Content{"long", "abc"}));
  EXPECT_THAT(contents(pax + header("folder/", 0, '5') + member("a", "1") + end),
              ElementsAre(Content{"a", "1"}));
  EXPECT_THAT(contents(pax + header("a", 0) + padded("abc") + member("b", "2") + end),
              ElementsAre(Content{"a", "abc"}, Content{"b", "2"}));
  std::string large = header("a", 0);
  large.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\x02\x58", 12));  // 600
  EXPECT_THAT(contents(summed(large) + padded(std::string(600, 'z')) + end),
              ElementsAre(Content{"a", std::string(600, 'z')}));
}

TEST(TarReader, PassesOverWhatIsNotAFile) {
  EXPECT_THAT(contents(header("folder/", 0, '5') + header("pipe", 9, '6') + header("null", 0, '3') +
                       member("/label", "", 'V') + member("", "", 'V') +
                       member("dump", std::string(513, 'd'), 'D') +
                       member("pax_global_header", record("comment", "5f3a"), 'g') +
                       member("a", "1", '7') + end),
              ElementsAre(Content{"a", "1"}));
}

TEST(TarReader, RefusesFilesWhoseContentIsElsewhere) {
  expect_refused(member("z", "") + header("a.jpg", 0, '1') + end,
                 "t.tar: at byte 512: 'a.jpg' is a link; pack the file itself, with tar --hard");
  expect_refused(header("a.jpg", 0, '2') + end, "with tar --dereference");
  expect_refused(header("a.jpg", 0, 'S') + end, "'a.jpg' is sparse");
  expect_refused(header("a.jpg", 0, 'M') + end, "'a.jpg' continues in another volume");
  expect_refused(member("p", record("GNU.sparse.major", "1"), 'x') + member("a.jpg", "1") + end,
                 "'a.jpg' is sparse");
  for (const char type : {'N', 'A', 'Z', ' '}) {
    expect_refused(header("a.jpg", 0, type) + end, "t.tar: at byte 0: 'a.jpg' has an unknown type");
  }
  expect_refused(member("g", record("path", "a"), 'g') + end, "gives all members one name");
}

TEST(TarReader, RefusesNamesOutsideOfTheTar) {
  for (const char* name : {"", "/etc/a.jpg", "../a.jpg", "a/../b.jpg", "a//b.jpg"}) {
    expect_refused(member(name, "") + end,
                   std::string("the name '") + name + "' is empty or absolute, or has");
  }
  expect_refused(member("p", record("path", std::string("a\0b", 3)), 'x') + member("a", "") + end,
                 "the name 'a?b' is empty");
}

/// Every kind of header, and a last member with a content of two blocks.
const std::string various = member("././@LongLink", long_name, 'L') + member("cut", "1") +
                            member("p", record("path", "pax.jpg"), 'x') + member("q", "22") +
                            header("folder/", 0, '5') + member("last", std::string(700, 'c'));

TEST(TarReader, RefusesEveryTruncation) {
  const std::string tar = various + end;
  const std::vector<Content> whole = contents(tar);
  ASSERT_EQ(whole.size(), 3U);
  for (std::size_t size = 0; size < tar.size(); ++size) {
    SCOPED_TRACE(size);
    if (size < various.size() + tars::block) {
      EXPECT_REFUSED((void)contents(tar.substr(0, size)), Fault::data, "t.tar");
    } else {
      EXPECT_EQ(contents(tar.substr(0, size)), whole);  // one block of zeros ends a tar
    }
  }
}

TEST(TarReader, RefusesEveryChangeOfAHeader) {
  const std::string tar = member("a.jpg", "1") + end;
  for (std::size_t at = 0; at < tars::block; ++at) {
    if (at >= 154 && at < 156) continue;  // the end of the sum
    std::string changed = tar;
    ++changed[at];
    SCOPED_TRACE(at);
    expect_refused(changed, "t.tar: at byte 0: the header's checksum is wrong; this is not a tar");
  }
}

TEST(TarReader, RefusesSizesThatCannotBe) {
  expect_refused(header("a.jpg", 1025) + std::string(1024, '\0'),
                 "'a.jpg' has 1,025 bytes, but the file ends before that");
  for (const std::string& size :
       {std::string(12, '\xff'), std::string("\x80") + std::string(11, '\x7f'), std::string("12x"),
        std::string("-1")}) {
    std::string wrong = header("a.jpg", 0);
    wrong.replace(124, 12, padded(size).substr(0, 12));
    expect_refused(summed(wrong) + end, "'a.jpg' has no valid size");
  }
  for (const char* size : {"-1", "x", "", "99999999999999999999"}) {
    expect_refused(member("p", record("size", size), 'x') + member("a", "") + end, "'size' is '");
  }
  expect_refused(member("p", record("size", "9223372036854775807"), 'x') + member("a", "") + end,
                 "but the file ends");
  expect_refused(header("L", 2U << 20U, 'L') + std::string(3U << 20U, '\0'), "more than 1 MiB");
}

TEST(TarReader, RefusesDamagedRecords) {
  for (const char* text : {"x", "12", "5 a=b\n", "7 a=b\n", "0 a=b\n", "6 abc\n", "6 a=bc",
                           " a=b\n", "99999999999999999999 a=b\n", "-6 a=b\n"}) {
    SCOPED_TRACE(text);
    expect_refused(member("p", text, 'x') + member("a", "") + end, "a pax record is damaged");
  }
  expect_refused(member("p", record("path", "a"), 'x') + end, "a member is missing");
}

TEST(TarReader, RefusesDataAfterTheEnd) {
  const std::string one = member("a", "1") + end;
  expect_refused(one + one, "the tar ends, but data follows at byte 2048; if several tars");
  expect_refused(one + std::string(100'000, '\0') + "x", "data follows at byte 102048");
  const std::string head = member("a", "1");
  EXPECT_EQ(contents(head + std::string(1U << 20U, '\0')).size(), 1U);
  expect_refused(head + std::string((1U << 20U) + 1, '\0'),
                 "the tar ends, but 1,048,577 bytes follow; it may be incomplete: fetch it again");
}

TEST(TarReader, SuggestsToDecompress) {
  for (const char* start : {"\x1f\x8b and so on", "\x28\xb5\x2f\xfd", "BZh9"}) {
    expect_refused(padded(start),
                   "t.tar: at byte 0: the header's checksum is wrong; this is not a "
                   "tar, or it is compressed or damaged: decompress it first");
  }
  expect_refused("", "the file has 0 bytes");
}

TEST(TarReader, StopsOnRequest) {
  int asked = 0;
  TarReader reader(tars::opened(member("a", "1") + member("b", "2") + end),
                   [&] { return ++asked > 1; });
  EXPECT_TRUE(reader.next());
  EXPECT_REFUSED((void)reader.next(), Fault::cancelled, "stopped while reading t.tar");
}

TEST(FindMember, ReadsAFileByItsPathBelowATar) {
  const test::TemporaryFolder folder;
  const auto tar =
      folder.write("below/t.tar", member("a/1.jpg", "one") + member("2.jpg", "two") + end);
  folder.write("below/plain.jpg", "plain");
  EXPECT_TRUE(is_tar(tar));
  EXPECT_FALSE(is_tar(folder.path() / "below/plain.jpg"));
  EXPECT_FALSE(is_tar(folder.path()));
  EXPECT_EQ(find_member(tar / "a/1.jpg")->read(), (std::vector<std::uint8_t>{'o', 'n', 'e'}));
  EXPECT_EQ(find_member(folder.path() / "below/plain.jpg"), std::nullopt);
  EXPECT_EQ(find_member(folder.path() / "below/plain.jpg/1.jpg"), std::nullopt);
  EXPECT_EQ(find_member("nowhere/1.jpg"), std::nullopt);
  EXPECT_REFUSED((void)find_member(tar / "3.jpg"), Fault::data, "has no member '3.jpg'");
}

TEST(OpenFile, RefusesAFileThatHasChanged) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("t.tar", member("a", "1") + end);
  const auto file = open_file(path);
  std::string bytes(100, '\0');
  file->read(0, bytes.data(), bytes.size());
  EXPECT_REFUSED(file->read(2000, bytes.data(), bytes.size()), Fault::data, "the file ends");
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_REFUSED(file->read(0, bytes.data(), 1), Fault::data, "has changed since it was opened");
  EXPECT_REFUSED((void)open_file(folder.path() / "no.tar"), Fault::data, "No such file");
}

}  // namespace seam::stages::tar_reader_test
