#include "pipeline/run/trace.hpp"

#include "tests/pipeline/run/full_disk.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::trace_test {

using seam::test::FullDisk;
using seam::test::TemporaryFolder;

using std::chrono::microseconds;

TEST(Trace, WritesCallsByThread) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.json";
  Trace trace(path);
  const auto from = std::chrono::steady_clock::now() + microseconds(100);
  trace.called({"train", "decode \"a\"", 7, false, from, from + microseconds(25)});
  std::thread([&] {
    trace.called({"train", "model", 0, true, from, from + microseconds(1500)});
  }).join();
  EXPECT_FALSE(trace.finish());
  const std::string text = read_text_file(path);
  EXPECT_THAT(text, StartsWith("[\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,"
                               "\"args\":{\"name\":\"worker 1\"}},\n"));
  EXPECT_THAT(text, HasSubstr(R"({"name":"decode \"a\"","cat":"train","ph":"X","ts":)"));
  EXPECT_THAT(text, HasSubstr(R"("dur":25.0,"pid":1,"tid":1,"args":{"packet":7}},)"));
  EXPECT_THAT(text, HasSubstr(R"("tid":2,"args":{"name":"compute"}})"));
  EXPECT_THAT(text, HasSubstr(R"("dur":1500.0,"pid":1,"tid":2,"args":{"packet":0}})"
                              "\n]\n"));
}

TEST(Trace, DrawsTheMemoryOfCallsThatWereMeasured) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.json";
  Trace trace(path);
  const auto from = std::chrono::steady_clock::now();
  trace.called({"train", "model", 4, true, from, from, {3000, 2000, 70000}});
  EXPECT_FALSE(trace.finish());
  EXPECT_THAT(read_text_file(path),
              AllOf(HasSubstr(R"({"name":"tensor bytes in use","ph":"C","ts":)"),
                    HasSubstr(R"("pid":1,"args":{"most in a call":70000}},)"),
                    HasSubstr(R"("args":{"packet":4,"tensor_bytes_peak":3000,)"
                              R"("tensor_bytes_kept":2000}})")));
}

TEST(Trace, OfARunWithoutCallsIsAnEmptyArray) {
  const TemporaryFolder folder;
  Trace trace(folder.path() / "trace.json");
  EXPECT_FALSE(trace.finish());
  EXPECT_EQ(read_text_file(folder.path() / "trace.json"), "[\n]\n");
}

TEST(Trace, NamesTheCallersTrace) {
  const TemporaryFolder folder;
  Trace trace(folder.path() / "trace.json", "00-a-b-01");
  EXPECT_FALSE(trace.finish());
  EXPECT_EQ(read_text_file(folder.path() / "trace.json"),
            "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"seam, "
            "traceparent 00-a-b-01\"}}\n]\n");
}

TEST(Trace, NamesTheFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_REFUSED(Trace(folder.path() / "missing" / "trace.json"), Fault::data,
                 "missing/trace.json");
}

TEST(Trace, ReplacesOnlyATrace) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "trace.json";
  EXPECT_FALSE(Trace(file).finish());
  EXPECT_FALSE(Trace(file).finish());
  write_whole_file(file, "[stage.model]\n");
  EXPECT_REFUSED(Trace{file}, Fault::configuration, "exists and is not a trace");
  EXPECT_EQ(read_text_file(file), "[stage.model]\n");
}

TEST(Trace, AFullDiskIsToldAtTheEnd) {
  const TemporaryFolder folder;
  Trace trace(folder.path() / "trace.json");
  const auto from = std::chrono::steady_clock::now();
  trace.called({"train", "decode", 0, false, from, from});
  std::optional<Error> error;
  {
    const FullDisk disk;
    error = trace.finish();
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(error->fault(), Fault::data);
  EXPECT_THAT(error->what(), AllOf(HasSubstr("trace.json"), HasSubstr("File too large")));
}

const std::string example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::string with(std::size_t at, char character) {
  std::string text = example;
  text[at] = character;
  return text;
}

TEST(Traceparent, IsTheFormOfTheSpecification) {
  EXPECT_TRUE(is_traceparent(example));
  EXPECT_FALSE(is_traceparent(""));
  EXPECT_FALSE(is_traceparent(example.substr(1)));
  EXPECT_FALSE(is_traceparent(example + " "));
  for (std::size_t at = 0; at < example.size(); ++at) {
    EXPECT_FALSE(is_traceparent(with(at, 'A'))) << at;  // digits are in lower case
    EXPECT_EQ(is_traceparent(with(at, '-')), example[at] == '-') << at;
  }
}

TEST(Traceparent, ZeroIdsAreInvalid) {
  EXPECT_FALSE(is_traceparent("00-" + std::string(32, '0') + "-00f067aa0ba902b7-01"));
  EXPECT_FALSE(
      is_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-" + std::string(16, '0') + "-01"));
}

TEST(Traceparent, LaterVersionsMayAddFields) {
  EXPECT_TRUE(is_traceparent("cc" + example.substr(2)));
  EXPECT_TRUE(is_traceparent("cc" + example.substr(2) + "-what"));
  EXPECT_FALSE(is_traceparent("cc" + example.substr(2) + ".what"));
  EXPECT_FALSE(is_traceparent(example + "-what"));
  EXPECT_FALSE(is_traceparent("ff" + example.substr(2)));
}

}  // namespace seam::host::trace_test
