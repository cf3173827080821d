#include "csv_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>
#include <string>

namespace {

namespace fs = std::filesystem;
using seam::testing::Harness;

fs::path temporary_table() {
  return fs::path(testing::TempDir()) / ("table-" + std::to_string(::getpid()) + ".csv");
}

const auto conformance =
    seam::testing::conformance<CsvTable>({.parameters = {{"file", std::string("table.csv")}}});

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class CsvTableTest : public ::testing::Test {
 protected:
  CsvTableTest() { harness_.set("file", table_.string()); }
  ~CsvTableTest() override { fs::remove(table_); }

  fs::path table_ = temporary_table();
  Harness harness_{"table", std::make_unique<CsvTable>()};
};

TEST_F(CsvTableTest, ALineForEachPacket) {
  seam::Packet shirt({nullptr, 0, "a.jpg"});
  shirt.set(seam::field::item, "id_1");
  shirt.set(seam::field::index, 7);
  seam::Packet other({nullptr, 0, "b, with a comma.jpg"});
  other.set(seam::field::item, "the \"best\"");
  harness_.push(shirt).push(other);
  EXPECT_FALSE(fs::exists(table_)) << "before the flow has ended";
  harness_.finish();
  EXPECT_EQ(content(table_),
            "origin,item,index,category\n"
            "a.jpg,id_1,7,\n"
            "\"b, with a comma.jpg\",\"the \"\"best\"\"\",,\n");
}

TEST_F(CsvTableTest, LeavesNothingOfACancelledFlow) {
  seam::Packet packet;
  packet.set(seam::field::item, "id_1");
  harness_.push(packet).close();
  EXPECT_FALSE(fs::exists(table_));
  EXPECT_FALSE(fs::exists(table_.string() + ".part"));
}

TEST_F(CsvTableTest, SaysWhereItCannotWrite) {
  harness_.set("file", "/proc/no/table.csv");
  EXPECT_REFUSED(harness_.push(seam::Packet()), seam::Fault::data,
                 "'/proc/no/table.csv.part' cannot be written");
}

}  // namespace
