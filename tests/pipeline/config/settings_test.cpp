#include "pipeline/config/settings.hpp"

#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::host::settings_test {

/// The places of the warnings about a [schedule] of a training flow "train" and a flow "evaluate":
/// "2:24" is line 2, column 24.
std::vector<std::string> repeats(const std::string& schedule) {
  Sources sources;
  Findings findings(sources);
  const Node root = read_document(sources.add("a.toml", "[schedule]\n" + schedule), findings);
  KnownNames known;
  known.flows = {"train", "evaluate"};
  const Table& tree = *root.table();
  const ScheduleSpec spec = read_schedule(tree, "a.toml", known, findings);
  check_repeats(
      tree, spec, [](const std::string& flow) { return flow == "train"; }, findings);
  std::vector<std::string> places;
  for (const Problem& problem : findings.in_order()) {
    EXPECT_EQ(problem.code, "flow-repeated") << problem.message;
    EXPECT_EQ(problem.severity, Severity::warning);
    places.push_back(std::to_string(problem.place.line) + ":" +
                     std::to_string(problem.place.column));
  }
  return places;
}

TEST(RepeatedFlow, IsATrainingFlowThatAnEpochListsTwice) {
  EXPECT_THAT(repeats("each_epoch = [\"train\", \"evaluate\", \"train\"]\n"), ElementsAre("2:36"));
  EXPECT_THAT(repeats("epochs = 9\neach_epoch = [{ flow = \"train\", every = 3 }, \"train\"]\n"),
              ElementsAre("3:46"));
  EXPECT_THAT(repeats("before = [\"train\", \"train\"]\n"), ElementsAre("2:20"));
  EXPECT_THAT(repeats("each_epoch = [\"evaluate\", \"train\", \"evaluate\"]\n"), IsEmpty());
}

TEST(RepeatedFlow, MayRunBeforeOrAfterTheEpochThatListsIt) {
  EXPECT_THAT(repeats("epochs = 9\nbefore = \"train\"\neach_epoch = [\"evaluate\", \"train\"]\n"),
              ElementsAre("4:27"));
  EXPECT_THAT(repeats("epochs = 9\neach_epoch = [\"train\"]\nafter = [\"train\"]\n"),
              ElementsAre("4:10"));
}

TEST(RepeatedFlow, InDifferentEpochsIsNone) {
  const std::string rarely =
      "before = [\"train\"]\neach_epoch = [{ flow = \"train\", every = 3 }]\n";
  EXPECT_THAT(repeats("epochs = 9\n" + rarely), IsEmpty());
  EXPECT_THAT(repeats("epochs = 1\n" + rarely), ElementsAre("4:15"));
  const std::string around =
      "before = [\"train\"]\neach_epoch = [\"evaluate\"]\nafter = [\"train\"]\n";
  EXPECT_THAT(repeats("epochs = 9\n" + around), IsEmpty());
  EXPECT_THAT(repeats("epochs = 1\n" + around), ElementsAre("5:10"));
}

}  // namespace seam::host::settings_test
