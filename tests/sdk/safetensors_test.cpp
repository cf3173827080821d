#include <cstring>
#include <limits>
#include <seam/safetensors.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::safetensors_test {

using seam::test::TemporaryFolder;

Archive::Entry entry(const std::string& type, std::vector<std::int64_t> shape,
                     std::string_view bytes) {
  Archive::Entry made{type, std::move(shape), std::vector<std::byte>(bytes.size())};
  if (!bytes.empty()) std::memcpy(made.bytes.data(), bytes.data(), bytes.size());
  return made;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file as written by another program: length, header, data.
std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + data;
}

Safetensors parse(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "w.safetensors");
}

/// The error of parsing; damage has the fault `data`.
std::string complaint(const std::string& file) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::data);
    EXPECT_THAT(error.what(), HasSubstr("'w.safetensors'"));
    return error.what();
  }
  return "accepted";
}

/// A header with one tensor "a".
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

Safetensors example() {
  Safetensors content;
  content.tensors["model/a.weight"] = entry("f32", {2, 1}, "01234567");
  content.tensors["model/b"] = entry("u8", {3}, "xyz");
  content.tensors["model/c"] = entry("i64", {}, "abcdefgh");
  content.tensors["model/empty"] = entry("f32", {0, 3}, "");
  content.tensors["model/flags"] = entry("bool", {2}, std::string_view("\0\1", 2));
  content.tensors["model/half"] = entry("bf16", {1}, "hh");
  content.metadata = {{"format", "pt"}, {"note", "with \"quotes\", \\ and \u00e9"}};
  return content;
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const auto bytes = safetensors_bytes(example());
  EXPECT_EQ(parse_safetensors(bytes, "w"), example());
  EXPECT_EQ(safetensors_bytes(example()), bytes);
  EXPECT_EQ(parse_safetensors(safetensors_bytes({}), "w"), Safetensors{});
}

TEST(Safetensors, EveryTypeOfAnArchiveComesBack) {
  Safetensors content;
  for (const char* type : {"bool", "u8", "Char"}) content.tensors[type] = entry(type, {2}, "ab");
  for (const char* type : {"Short", "f16", "bf16"}) content.tensors[type] = entry(type, {1}, "ab");
  for (const char* type : {"i32", "f32"}) content.tensors[type] = entry(type, {1, 1}, "abcd");
  for (const char* type : {"i64", "f64"}) content.tensors[type] = entry(type, {}, "abcdefgh");
  content.tensors["text"] = entry("text", {3}, "a\"b");
  content.tensors["no text"] = entry("text", {0}, "");
  content.tensors["ComplexHalf"] = entry("ComplexHalf", {1}, "abcd");
  content.tensors["ComplexFloat"] = entry("ComplexFloat", {}, "abcdefgh");
  content.tensors["ComplexDouble"] = entry("ComplexDouble", {2, 0, 2}, "");
  EXPECT_EQ(parse_safetensors(safetensors_bytes(content), "w"), content);
}

TEST(Safetensors, TensorsAreAlignedAndInAFixedOrder) {
  const std::string file = text_of(safetensors_bytes(example()));
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(file.substr(sizeof(length) + length),
            "abcdefgh01234567hh"
            "xyz" +
                std::string("\0\1", 2));
}

TEST(Safetensors, ReadsWhatOtherProgramsWrite) {
  const Safetensors content = parse(file_of(
      R"({"__metadata__": {"format": "pt"},
          "b": {"data_offsets": [4, 4], "dtype": "F32", "shape": [3, 0]},
          "c": {"dtype": "C64", "shape": [1], "data_offsets": [4, 12]},
          "a": {"shape": [2], "dtype": "F16", "data_offsets": [0, 4]}}   )",
      "ABCDabcdefgh"));
  EXPECT_EQ(content.metadata.at("format"), "pt");
  EXPECT_EQ(content.tensors.at("a"), entry("f16", {2}, "ABCD"));
  EXPECT_EQ(content.tensors.at("b"), entry("f32", {3, 0}, ""));
  EXPECT_EQ(content.tensors.at("c"), entry("ComplexFloat", {1}, "abcdefgh"));
  EXPECT_EQ(parse(file_of("{}", "")), Safetensors{});
}

TEST(Safetensors, ATruncationIsNoticedWherever) {
  const std::string whole = text_of(safetensors_bytes(example()));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_THAT(complaint(whole.substr(0, size)), HasSubstr("is damaged")) << size;
  }
  EXPECT_THAT(complaint(whole.substr(0, whole.size() - 5)),
              HasSubstr("it has " + std::to_string(whole.size() - 5) + " of its " +
                        std::to_string(whole.size()) + " bytes"));
  EXPECT_THAT(complaint(whole + "x"), HasSubstr("has 1 extra bytes after its last tensor"));
}

TEST(Safetensors, AFlippedBitIsNoticedByTheChecksum) {
  Safetensors content = example();
  content.metadata["seam.checkpoint"] = "3";  // files with this have a checksum
  const std::string whole = text_of(safetensors_bytes(content));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1U << bit % 8));
    ASSERT_NE(complaint(flipped), "accepted") << bit;
  }
}

TEST(Safetensors, AChecksumThatIsSpeltInAnotherWayIsNotTrusted) {
  const std::string header = R"({"__metadata__":{"seam.checksum": "crc64:0000000000000000"}})";
  EXPECT_THAT(complaint(file_of(header, "")), HasSubstr("its checksum does not match its content"));
  EXPECT_THAT(complaint(file_of(R"({"__metadata__":{"seam.checksum":"crc64:"}})", "")),
              HasSubstr("its checksum does not match"));
  EXPECT_THAT(complaint(file_of(R"({"__metadata__":{"seam.checkpoint":"3"}})", "")),
              HasSubstr("its metadata lacks 'seam.checksum'"));
}

TEST(Safetensors, AHeaderThatDoesNotFitIsNoticed) {
  std::string file = file_of("{}", "");
  const std::uint64_t lie = std::numeric_limits<std::uint64_t>::max();
  std::memcpy(file.data(), &lie, sizeof(lie));
  EXPECT_THAT(complaint(file),
              HasSubstr("its header takes 18446744073709551615 bytes, but 2 are left"));
  EXPECT_THAT(complaint(file_of("", "")), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(complaint(file_of("[]", "")), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(complaint(file_of("{\"a\":", "")), HasSubstr("its header is not JSON"));
  EXPECT_THAT(complaint(file_of("{\"\xff\":{}}", "")), HasSubstr("its header is not JSON"));
  EXPECT_THAT(complaint(file_of("{} {}", "")), HasSubstr("its header is not JSON"));
  EXPECT_THAT(complaint(file_of(R"({"a":)" + std::string(100'000, '['), "")),
              HasSubstr("nested too deeply"));
}

TEST(Safetensors, OffsetsThatLeaveGapsOrOverlapAreNoticed) {
  const auto two = [](const std::string& second) {
    return file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                       second + "}}",
                   "01234567");
  };
  EXPECT_EQ(complaint(two("[4,8]")), "accepted");
  EXPECT_THAT(complaint(two("[2,6]")),
              HasSubstr("tensor 'b' takes bytes 2 to 6, but the one before it ends at 4"));
  EXPECT_THAT(complaint(two("[0,4]")), HasSubstr("but the one before it ends at 4"));
  EXPECT_THAT(complaint(two("[5,9]")), HasSubstr("but the one before it ends at 4"));
  EXPECT_THAT(complaint(two("[4,0]")), HasSubstr("tensor 'b' takes bytes 4 to 0"));
  EXPECT_THAT(complaint(two("[4,18446744073709551615]")), HasSubstr("of its more than 2^64 bytes"));
  EXPECT_THAT(complaint(two("[4,9]")), HasSubstr("bytes"));
  EXPECT_THAT(complaint(two("[4,-8]")), HasSubstr("an offset -8, which is not a whole number"));
  EXPECT_THAT(complaint(two("[4,8.0]")), HasSubstr("which is not a whole number"));
  EXPECT_THAT(complaint(two("[4]")), HasSubstr("an unexpected 'data_offsets'"));
}

TEST(Safetensors, AShapeThatIsNotThatOfItsBytesIsNoticed) {
  const auto shaped = [](const std::string& shape) {
    return complaint(file_of(one("F32", shape, "[0,8]"), "01234567"));
  };
  EXPECT_EQ(shaped("[1,2]"), "accepted");
  EXPECT_THAT(shaped("[3]"), HasSubstr("tensor 'a' has 8 bytes, but f32[3] takes 12"));
  EXPECT_THAT(shaped("[]"), HasSubstr("takes 4"));
  EXPECT_THAT(shaped("[-1,-2]"), HasSubstr("a dimension of size -1"));
  // 4 * (2^62 + 1) * 2 is 8 in 64 bits.
  EXPECT_THAT(shaped("[4611686018427387905,2]"), HasSubstr("more than memory can hold"));
  EXPECT_THAT(shaped("[18446744073709551615]"), HasSubstr("more than memory can hold"));
  EXPECT_THAT(shaped("[0,4611686018427387905,2]"), HasSubstr("more than memory can hold"));
  EXPECT_THAT(shaped("[1e1]"), HasSubstr("not a whole number"));
  EXPECT_THAT(shaped("[99999999999999999999]"), HasSubstr("not a whole number"));
  EXPECT_THAT(shaped("\"2\""), HasSubstr("an unexpected 'shape'"));
  std::string many = "[2";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(shaped(many + "]"), HasSubstr("65 dimensions"));
}

TEST(Safetensors, WhatTheFormatDoesNotHaveIsNoticed) {
  EXPECT_THAT(complaint(file_of(one("U16", "[1]", "[0,2]"), "ab")),
              AllOf(HasSubstr("tensor 'a' has elements of type U16"), HasSubstr("convert it")));
  EXPECT_THAT(complaint(file_of(one("Q1", "[1]", "[0,1]"), "a")), HasSubstr("elements of type Q1"));
  EXPECT_THAT(complaint(file_of(R"({"a":{"dtype":"U8","shape":[0]}})", "")),
              HasSubstr("lacks one of dtype, shape and data_offsets"));
  EXPECT_THAT(complaint(file_of(
                  R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"strides":[1]}})", "")),
              HasSubstr("an unexpected 'strides'"));
  EXPECT_THAT(complaint(file_of(R"({"a":3})", "")), HasSubstr("tensor 'a' is not a JSON object"));
  EXPECT_THAT(complaint(file_of(R"({"__metadata__":{"n":3}})", "")),
              HasSubstr("its metadata has 'n', which is not a string"));
  EXPECT_THAT(complaint(file_of(R"({"__metadata__":[]})", "")), HasSubstr("is not a JSON object"));
}

TEST(Safetensors, NamesThatComeTwiceAreNoticed) {
  const std::string tensor = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(complaint(file_of(R"({"a":)" + tensor + R"(,"a":)" + tensor + "}", "")),
              HasSubstr("its header has two keys 'a'"));
  EXPECT_THAT(complaint(file_of(
                  R"({"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", "")),
              HasSubstr("two keys 'dtype'"));
}

TEST(Safetensors, ATypeThatIsNotStoredInThatWayIsNoticed) {
  for (const char* type : {"i64", "f99", "ComplexFloat"}) {
    Safetensors content;
    content.tensors["a"] = entry("u8", {1}, "a");
    content.metadata["seam.types"] = std::string(R"({"a":")") + type + "\"}";
    EXPECT_THAT(complaint(text_of(safetensors_bytes(content))),
                HasSubstr(std::string("the metadata says that tensor 'a' has type '") + type));
  }
  Safetensors content;
  content.metadata["seam.types"] = R"({"a":"text"})";
  EXPECT_THAT(complaint(text_of(safetensors_bytes(content))),
              HasSubstr("a type for 'a', which is not in the file"));
}

TEST(Safetensors, WhatCannotBeSavedIsADefectOfWhoSaves) {
  Safetensors content;
  content.tensors["\xff"] = entry("u8", {1}, "a");
  EXPECT_REFUSED(safetensors_bytes(content), Fault::internal, "is not valid UTF-8");
  content.tensors = {{"__metadata__", entry("u8", {1}, "a")}};
  EXPECT_REFUSED(safetensors_bytes(content), Fault::internal, "is reserved");
  content.tensors = {{"a", entry("u8", {2}, "a")}};
  EXPECT_REFUSED(safetensors_bytes(content), Fault::internal, "tensor 'a' has 1 bytes");
}

TEST(Safetensors, FilesOfOtherKindsAreNamed) {
  const std::string advice = "safetensors.torch.save_file";
  EXPECT_REFUSED(parse("PK\x03\x04...."), Fault::configuration, advice);
  EXPECT_REFUSED(parse("\x80\x02\x8a\nl"), Fault::configuration, advice);
}

class ReadWeights : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const Safetensors& content) const {
    return folder_.write(name, text_of(safetensors_bytes(content)));
  }
  /// The error of reading.
  std::string complaint(const std::filesystem::path& path,
                        const std::string& stage = "model") const {
    return test::message_of([&] { read_weights(path, stage); });
  }
  /// The first byte of the weight that was read.
  char taken(const std::filesystem::path& path) const {
    return static_cast<char>(read_weights(path, "model").at("w").bytes.at(0));
  }

  static Safetensors checkpoint(char weight, const std::string& best = "") {
    Safetensors content;
    content.tensors["model/w"] = entry("u8", {1}, std::string(1, weight));
    content.tensors["adam/model.w.mean"] = entry("u8", {1}, "m");
    content.metadata = {{"seam.checkpoint", "3"},
                        {"seam.stages", R"([["model","model.x"],["adam","train.adam"]])"}};
    if (!best.empty()) content.metadata["seam.best"] = best;
    return content;
  }

  TemporaryFolder folder_;
};

TEST_F(ReadWeights, TakesAModulesOwnNames) {
  Safetensors content;
  content.tensors["layer1.0.weight"] = entry("f32", {1}, "abcd");
  EXPECT_EQ(read_weights(write("w.safetensors", content), "model"), content.tensors);
}

TEST_F(ReadWeights, TakesTheStageOfTheSameName) {
  const auto file = write("c.safetensors", checkpoint('a'));
  const auto weights = read_weights(file, "model");
  EXPECT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights.at("w"), entry("u8", {1}, "a"));
  EXPECT_THAT(complaint(file, "mod"),
              AllOf(HasSubstr("no weights for a stage 'mod'"), HasSubstr("model, adam")));
}

TEST_F(ReadWeights, ACheckpointThatPythonWroteAgainIsStillReadByStage) {
  Safetensors content = checkpoint('a');
  content.metadata.clear();
  EXPECT_EQ(taken(write("c.safetensors", content)), 'a');
}

TEST_F(ReadWeights, OfARunTheNewestIsTaken) {
  for (const int epoch : {2, 9, 10}) {
    write("run/checkpoints/epoch-" + std::to_string(epoch) + ".safetensors",
          checkpoint(static_cast<char>('a' + epoch)));
  }
  folder_.write("run/checkpoints/epoch-11.safetensors.part", "");
  folder_.write("run/checkpoints/epoch-12.safetensors.damaged", "");
  EXPECT_EQ(taken(folder_.path() / "run"), 'a' + 10);
}

TEST_F(ReadWeights, OfARunThatLacksItsLastCheckpointNothingIsTaken) {
  Safetensors content = checkpoint('a');
  content.metadata["seam.run.epochs_done"] = "1";
  write("run/checkpoints/epoch-1.safetensors", content);
  folder_.write("run/summary.json", R"({"complete":false,"epochs_done":2})");
  EXPECT_EQ(taken(folder_.path() / "run"), 'a');
  folder_.write("run/summary.json", R"({"complete":true,"epochs_done":2})");
  EXPECT_THAT(complaint(folder_.path() / "run"),
              HasSubstr("run' has completed 2 epochs, but its newest checkpoint is "
                        "'epoch-1.safetensors': the last one is missing"));
  write("run/checkpoints/epoch-2.safetensors", content);
  EXPECT_THAT(complaint(folder_.path() / "run"),
              AllOf(HasSubstr("'epoch-2.safetensors' of run"),
                    HasSubstr("was written after epoch 1: it was renamed or copied")));
}

TEST_F(ReadWeights, OfARunInItsFirstEpochNothingIsTaken) {
  Safetensors content = checkpoint('a');
  content.metadata["seam.run.trainings"] = "0";
  write("run/checkpoints/epoch-0.safetensors", content);
  EXPECT_THAT(complaint(folder_.path() / "run"),
              HasSubstr("run' has not completed an epoch: its checkpoint 'epoch-0.safetensors' has "
                        "the initial weights"));
  content.metadata["seam.run.trainings"] = "1";
  write("run/checkpoints/epoch-0.safetensors", content);
  EXPECT_EQ(taken(folder_.path() / "run"), 'a') << "trained before the first epoch";
}

TEST_F(ReadWeights, OfARunThatKeptTheBestThatIsTaken) {
  write("run/checkpoints/epoch-2.safetensors", checkpoint('b', "epoch-2.safetensors"));
  write("run/checkpoints/epoch-4.safetensors", checkpoint('d', "epoch-2.safetensors"));
  EXPECT_EQ(taken(folder_.path() / "run"), 'b');
  std::filesystem::remove(folder_.path() / "run/checkpoints/epoch-2.safetensors");
  EXPECT_THAT(
      complaint(folder_.path() / "run"),
      AllOf(HasSubstr("epoch-2.safetensors', does not exist"), HasSubstr("epoch-4.safetensors'")));
  EXPECT_EQ(taken(folder_.path() / "run/checkpoints/epoch-4.safetensors"), 'd');
}

TEST_F(ReadWeights, ADamagedCheckpointIsNotPassedOver) {
  write("run/checkpoints/epoch-1.safetensors", checkpoint('a'));
  write("run/checkpoints/epoch-2.safetensors", checkpoint('b'));
  std::filesystem::resize_file(folder_.path() / "run/checkpoints/epoch-2.safetensors", 40);
  EXPECT_THAT(complaint(folder_.path() / "run"), HasSubstr("epoch-2.safetensors' is damaged"));
}

TEST_F(ReadWeights, SaysWhatIsThereInstead) {
  EXPECT_THAT(complaint(folder_.path() / "none"), HasSubstr("does not exist"));
  EXPECT_THAT(complaint(folder_.path()), HasSubstr("not a run folder with checkpoints"));
  std::filesystem::create_directories(folder_.path() / "run/checkpoints");
  EXPECT_THAT(complaint(folder_.path() / "run"), HasSubstr("has no checkpoint yet"));
  EXPECT_THAT(complaint(write("empty.safetensors", {})), HasSubstr("has no tensors"));
  EXPECT_NE(complaint(write("w.safetensors", checkpoint('a')), "x"), "");
}

}  // namespace seam::safetensors_test
