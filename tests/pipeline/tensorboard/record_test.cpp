#include "pipeline/tensorboard/record.hpp"

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::host::tensorboard::record_test {

struct Read {
  std::vector<std::string> records;
  RecordsEnd end = RecordsEnd::complete;
};

Read read(const std::string& bytes) {
  std::istringstream file(bytes);
  Read result;
  result.end = read_records(
      file, [&](std::string&& record) { result.records.push_back(std::move(record)); });
  return result;
}

/// Appendix B.4 of RFC 3720 (iSCSI), and the check value of the catalogue of CRC algorithms.
TEST(Crc32c, HasItsPublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising += byte;
  EXPECT_EQ(crc32c(rising), 0x46DD794EU);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, IsRotatedAndOffsetInRecords) {
  EXPECT_EQ(masked(0), 0xA282EAD8U);
  EXPECT_EQ(masked(0x00008000U), 0xA282EAD9U);
  EXPECT_EQ(masked(1), 0xA284EAD8U);
}

/// The checksums are those of TensorBoard 2.21, in Python.
TEST(Record, HasTheGoldenBytes) {
  const std::string golden(
      "\x03\x00\x00\x00\x00\x00\x00\x00"
      "\xB0\x99\x49\x0E"
      "abc"
      "\x6E\x57\xF1\x21",
      19);
  EXPECT_EQ(record("abc"), golden);
}

TEST(Records, ComeBackWhole) {
  const std::string large(3 << 20, 'x');
  const Read back = read(record("one") + record("") + record(large));
  EXPECT_THAT(back.records, ElementsAre("one", "", large));
  EXPECT_EQ(back.end, RecordsEnd::complete);
  EXPECT_THAT(read("").records, IsEmpty());
  EXPECT_EQ(read("").end, RecordsEnd::complete);
}

TEST(Records, EndAtAnIncompleteOneWhereverItWasCut) {
  const std::string first = record("first");
  const std::string second = record("second");
  for (std::size_t size = 1; size < second.size(); ++size) {
    const Read back = read(first + second.substr(0, size));
    EXPECT_THAT(back.records, ElementsAre("first")) << size;
    EXPECT_EQ(back.end, RecordsEnd::incomplete) << size;
  }
}

TEST(Records, EndWhereAnyByteIsDamaged) {
  const std::string bytes = record("first") + record("second");
  const std::size_t begin = record("first").size();
  for (std::size_t at = begin; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const Read back = read(damaged + record("third"));
    EXPECT_THAT(back.records, ElementsAre("first")) << at;
    EXPECT_EQ(back.end, RecordsEnd::damaged) << at;
  }
}

}  // namespace seam::host::tensorboard::record_test
