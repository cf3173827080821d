#include "pipeline/run/event_file.hpp"

#include <algorithm>
#include <fstream>

#include "pipeline/tensorboard/event.hpp"
#include "pipeline/tensorboard/record.hpp"
#include "tests/pipeline/run/full_disk.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::event_file_test {

using seam::test::FullDisk;
using seam::test::TemporaryFolder;
using tensorboard::EventKind;

namespace fs = std::filesystem;
using ::testing::MatchesRegex;

std::string loss_at(std::int64_t step) {
  return tensorboard::scalars_event({1, step}, {{"loss", static_cast<double>(step)}});
}

std::string checkpoint_at(std::int64_t step, const std::string& name) {
  return tensorboard::checkpoint_event({1, step}, name);
}

class EventFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
  }

  /// The events that remain for a reader that obeys START, and the sequence: "1", "2", "START 3".
  [[nodiscard]] std::vector<std::string> events_of(const fs::path& file) const {
    std::ifstream stream(file, std::ios::binary);
    std::vector<std::string> events;
    tensorboard::read_records(stream, [&](std::string&& bytes) {
      const auto head = tensorboard::read_event(bytes);
      ASSERT_TRUE(head);
      const std::string step = std::to_string(head->step);
      if (head->kind == EventKind::start) events.push_back("START " + step);
      if (head->kind == EventKind::checkpoint) events.push_back(head->checkpoint + " " + step);
      if (head->kind == EventKind::summary) events.push_back(step);
      if (head->kind == EventKind::other) events.emplace_back("version");
    });
    return events;
  }

  /// A run that was killed after its second checkpoint, with values at the checkpoint's step.
  void write_first() {
    EventFile file(folder_.path(), {});
    file.append({loss_at(1), loss_at(2), checkpoint_at(2, "epoch-1")});
    file.append({loss_at(3), loss_at(4), loss_at(4), checkpoint_at(4, "epoch-2")});
    file.append({loss_at(4), loss_at(5)});
  }

  TemporaryFolder folder_;
};

TEST_F(EventFileTest, ANewRunHasOneFileThatTensorBoardFinds) {
  EventFile file(folder_.path(), {});
  file.append({loss_at(1)});
  ASSERT_EQ(files().size(), 1U);
  EXPECT_THAT(files().front().filename().string(),
              MatchesRegex(R"(events\.out\.tfevents\.[0-9]{10}\.[-A-Za-z0-9._]+\.[0-9]+)"));
  EXPECT_THAT(events_of(files().front()), ElementsAre("version", "START 0", "1"));
}

TEST_F(EventFileTest, AResumedRunKeepsWhatBelongsToTheCheckpointAndNoMore) {
  struct Case {
    EventFile::Resume resume;
    std::vector<std::string> events;
    const char* what;
  };
  for (const Case& one : std::vector<Case>{
           {{4, "epoch-2"}, {"version", "START 4", "4", "4"}, "the newest checkpoint"},
           {{2, "epoch-1"}, {"version", "START 2", "2"}, "an earlier checkpoint"},
           {{}, {"version", "START 0"}, "no checkpoint"},
           {{4, "epoch-7"}, {"version", "START 5"}, "a checkpoint that is not in the files"}}) {
    for (const fs::path& file : files()) fs::remove(file);
    write_first();
    const EventFile resumed(folder_.path(), one.resume);
    ASSERT_EQ(files().size(), 2U);
    EXPECT_EQ(events_of(files().back()), one.events) << one.what;
  }
}

TEST_F(EventFileTest, ASecondResumeReadsTheFilesAsTensorBoardDoes) {
  write_first();
  EventFile second(folder_.path(), {2, "epoch-1"});
  second.append({loss_at(3), loss_at(4), checkpoint_at(4, "epoch-2"), loss_at(5)});
  const EventFile resumed(folder_.path(), {4, "epoch-2"});
  ASSERT_EQ(files().size(), 3U);
  EXPECT_THAT(events_of(files().back()), ElementsAre("version", "START 4", "4"));
}

TEST_F(EventFileTest, AnIncompleteRecordOfAKilledProcessEndsItsFile) {
  write_first();
  std::ofstream(files().front(), std::ios::app | std::ios::binary)
      << tensorboard::record(checkpoint_at(5, "epoch-3")).substr(0, 20);
  const EventFile resumed(folder_.path(), {4, "epoch-2"});
  EXPECT_THAT(events_of(files().back()), ElementsAre("version", "START 4", "4", "4"));
}

TEST_F(EventFileTest, ARunThatWroteNoneBeforeBeginsAtItsCheckpoint) {
  const EventFile resumed(folder_.path(), {4, "epoch-2"});
  EXPECT_THAT(events_of(files().front()), ElementsAre("version", "START 5"));
}

TEST_F(EventFileTest, AFullDiskIsAnErrorAndLeavesWholeRecords) {
  EventFile file(folder_.path(), {});
  file.append({loss_at(1)});
  {
    const FullDisk disk(fs::file_size(files().front()) + 10);
    EXPECT_REFUSED(file.append({loss_at(2)}), Fault::data, "File too large");
  }
  file.append({loss_at(3)});
  EXPECT_THAT(events_of(files().front()), ElementsAre("version", "START 0", "1", "3"));
}

TEST_F(EventFileTest, ALaterFileComesLaterWhateverTheClockSays) {
  const fs::path future = folder_.path() / "events.out.tfevents.7999999999.host.1";
  folder_.write("events.out.tfevents.7999999999.host.1", "");
  const EventFile resumed(folder_.path(), {});
  ASSERT_EQ(files().size(), 2U);
  EXPECT_EQ(files().front(), future);
  EXPECT_TRUE(files().back().filename().string().starts_with("events.out.tfevents.8000000000."));
}

}  // namespace seam::host::event_file_test
