#include "pipeline/run/checksum.hpp"

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace seam::host::checksum_test {

using seam::test::TemporaryFolder;

// FIPS 180-4's examples.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const TemporaryFolder folder;
  const std::string bytes(200'001, 'x');
  EXPECT_EQ(sha256_of_file(folder.write("file", bytes)), sha256(bytes));
  EXPECT_EQ(sha256_of_file(folder.path() / "missing"), "");
}

}  // namespace seam::host::checksum_test
