#include "pipeline/run/checkpoint.hpp"

#include <cmath>
#include <limits>

#include "pipeline/run/files.hpp"
#include "seam/error.hpp"
#include "seam/safetensors.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::checkpoint_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

Checkpoint example(std::int64_t epochs = 12) {
  Checkpoint checkpoint;
  checkpoint.position = {true, epochs, 0, false, 0.1, 9, 3, 12, false, std::nullopt};
  checkpoint.metrics_size = 1234;
  checkpoint.timing_size = 567;
  checkpoint.skipped_size = 89;
  checkpoint.skipped_packets = 4;
  checkpoint.trainings = 11;
  checkpoint.training_steps = 704;
  checkpoint.pipeline = "[pipeline]\nname = \"a%é\"\n";
  checkpoint.plugins = "hash path\n";
  checkpoint.numerics = "cuda:0 in bfloat16";
  checkpoint.classes = {{"model", {"coat", "50 % wool", "rob\xE9", "\"hat\""}}};  // not UTF-8
  checkpoint.listings = {{"items", std::numeric_limits<std::uint64_t>::max()}, {"pairs", 1}};
  checkpoint.best_by = Choice{"recall.r@1", "evaluate", Purpose::measures, "50 % wool", "[]"};
  checkpoint.chosen = std::vector<ChosenWeights>{
      {"model", "runs/x/checkpoints/epoch-9.safetensors", checkpoint.best_by},
      {"other", "file.safetensors", std::nullopt}};
  StageState model{"model", "model.sccapsnet", {}};
  Archive::Entry weights{"f32", {2, 3}, std::vector<std::byte>(24)};
  for (std::size_t i = 0; i < 24; ++i) weights.bytes[i] = static_cast<std::byte>(i * 11);
  model.archive.put("weights", weights);
  model.archive.put("step", std::numeric_limits<std::int64_t>::min());
  model.archive.put("empty", Archive::Entry{"f32", {0, 3}, {}});
  checkpoint.stages.push_back(model);
  checkpoint.stages.push_back({"adam", "optimizer.adam", {}});
  StageState large{"large", "x", {}};  // more than is buffered at once
  large.archive.put("bytes",
                    Archive::Entry{"u8", {300'000}, std::vector<std::byte>(300'000, std::byte{7})});
  checkpoint.stages.push_back(large);
  return checkpoint;
}

class CheckpointTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return folder_.path() / "epoch-12.safetensors"; }

  /// The error of reading a file with these bytes; empty if there is none.
  std::string complaint(const std::vector<std::byte>& bytes) const {
    folder_.write("epoch-12.safetensors",
                  {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return seam::test::message_of([&] { read_checkpoint(file()); });
  }

  /// The checkpoint after it was written to a file and read.
  [[nodiscard]] Checkpoint rewritten(const Checkpoint& checkpoint) const {
    write_checkpoint(file(), checkpoint);
    return read_checkpoint(file());
  }

  TemporaryFolder folder_;
};

TEST_F(CheckpointTest, ReadsBackWhatWasWritten) {
  EXPECT_EQ(rewritten(example()), example());
  EXPECT_EQ(rewritten({}), Checkpoint()) << "a position without a best stays without";
  Checkpoint kept = example();
  kept.position.best_kept = {"odd%.loss", 0.1, 7};
  EXPECT_EQ(rewritten(kept), kept);
}

TEST_F(CheckpointTest, TheSameStateIsTheSameBytes) {
  write_checkpoint(file(), example());
  const auto first = read_file(file());
  write_checkpoint(file(), example());
  EXPECT_EQ(read_file(file()), first);
}

TEST_F(CheckpointTest, AnotherLengthIsNoticed) {
  Checkpoint small = example();
  small.stages.resize(2);
  write_checkpoint(file(), small);
  const auto whole = read_file(file());
  for (std::size_t size = 0; size < whole.size(); size += 5) {
    ASSERT_THAT(complaint({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}),
                HasSubstr("is damaged"))
        << size;
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THAT(complaint(longer), HasSubstr("is damaged"));
}

TEST_F(CheckpointTest, AFlippedBitIsNoticedWherever) {
  Checkpoint small = example();
  small.stages.resize(1);
  write_checkpoint(file(), small);
  const auto whole = read_file(file());
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += 29) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_NE(complaint(bytes), "") << bit;
  }
}

/// A checkpoint's bytes after a change that its checksum does not show.
std::vector<std::byte> changed(const std::function<void(Safetensors&)>& change) {
  const TemporaryFolder folder;
  write_checkpoint(folder.path() / "c", example());
  Safetensors content = read_safetensors(folder.path() / "c");
  change(content);
  return safetensors_bytes(content);
}

/// The same after a change of one metadata value.
std::vector<std::byte> with_metadata(const std::string& key, const std::string& value) {
  return changed([&](Safetensors& content) { content.metadata.at(key) = value; });
}

TEST_F(CheckpointTest, NamesThatComeTwiceAreNoticed) {
  EXPECT_THAT(complaint(with_metadata("seam.stages", R"([["model","a"],["model","b"]])")),
              HasSubstr("is damaged: it has two stages 'model'"));
  Checkpoint twice = example();
  twice.stages.push_back(twice.stages[0]);
  EXPECT_REFUSED(write_checkpoint(file(), twice), Fault::internal,
                 "two stages 'model' in one checkpoint");
}

TEST_F(CheckpointTest, ATensorOfNoStageIsNoticed) {
  for (const char* name : {"other/weights", "weights", "/weights", "mode/l"}) {
    EXPECT_THAT(complaint(changed([&](Safetensors& content) {
                  content.tensors[name] = Archive::Entry{"f32", {0}, {}};
                })),
                HasSubstr("is damaged: its tensor '" + std::string(name) +
                          "' does not belong to any of its stages"));
  }
}

TEST_F(CheckpointTest, ARunThatContradictsItselfIsNoticed) {
  EXPECT_THAT(complaint(with_metadata("seam.run.epochs_done", "-1")),
              HasSubstr("'seam.run.epochs_done' is negative"));
  for (const char* text : {"", "x", "1.5", "1 ", "99999999999999999999"}) {
    EXPECT_THAT(complaint(with_metadata("seam.run.metrics_size", text)),
                HasSubstr("is damaged: its 'seam.run.metrics_size' is '" + std::string(text) +
                          "', not a number"));
  }
  EXPECT_THAT(complaint(with_metadata("seam.run.best", "high")), HasSubstr("is 'high', not a"));
  for (const char* text : {"%", "%4", "%G1", "a%"}) {
    EXPECT_THAT(complaint(with_metadata("seam.run.plugins", text)),
                HasSubstr("a '%' without two digits"));
  }
  EXPECT_THAT(complaint(with_metadata("seam.stages", "{}")), HasSubstr("is not a list"));
  for (const char* wrong : {"{", "[]", "{\"model\": \"coat\"}", "{\"model\": [1]}"}) {
    EXPECT_THAT(complaint(with_metadata("seam.classes", wrong)),
                HasSubstr("its 'seam.classes' is not a list of names for each stage"));
  }
  for (const char* wrong : {"{", "[]", "{\"items\": 7}", "{\"items\": \"7g\"}"}) {
    EXPECT_THAT(complaint(with_metadata("seam.run.listings", wrong)),
                HasSubstr("its 'seam.run.listings' is not a digest for each data set"));
  }
  EXPECT_THAT(complaint(with_metadata("seam.stages", "[3]")),
              HasSubstr("instead of a stage's name and type"));
  EXPECT_THAT(
      complaint(changed([](Safetensors& content) { content.metadata.erase("seam.run.plugins"); })),
      HasSubstr("is damaged: its metadata lacks 'seam.run.plugins'"));
}

TEST_F(CheckpointTest, EveryTextAndNumberComesBack) {
  Checkpoint odd = example();
  odd.plugins = "hash /p\xff\xc3\xbc 100%\n\"quoted\"\n";
  odd.position.best = std::numeric_limits<double>::denorm_min();
  odd.means = {{"recall.r@1", 0.1},
               {"odd \xff%", -0.0},
               {"infinite", -std::numeric_limits<double>::infinity()}};
  odd.stages[0].archive.put("text", std::string_view("a\0b\xff", 4));
  odd.stages[0].archive.put("", std::string_view());
  odd.stages[0].archive.put("a/b", 0.5);
  odd.stages[0].archive.put("pair", Archive::Entry{"ComplexFloat", {1}, std::vector<std::byte>(8)});
  EXPECT_EQ(rewritten(odd), odd);
  odd.means = {{"none", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_TRUE(std::isnan(rewritten(odd).means.at("none")));
}

TEST_F(CheckpointTest, OtherProgramsFindTensorsUnderTheirNames) {
  write_checkpoint(file(), example());
  const Safetensors content = read_safetensors(file());
  EXPECT_EQ(content.tensors.at("model/weights"), example().stages[0].archive.get("weights"));
  EXPECT_EQ(content.metadata.at("format"), "pt");
  EXPECT_EQ(content.metadata.at("seam.best"), "epoch-9.safetensors");
  EXPECT_EQ(read_weights(file(), "model"), example().stages[0].archive.entries());
}

TEST_F(CheckpointTest, ThatOf010IsStillRead) {
  EXPECT_EQ(complaint(with_metadata("seam.checkpoint", "4")), "");
}

TEST_F(CheckpointTest, OtherFormatsAreNotCalledDamaged) {
  EXPECT_THAT(complaint(with_metadata("seam.checkpoint", "99")),
              AllOf(HasSubstr("has format 99"), Not(HasSubstr("damaged"))));
  EXPECT_THAT(complaint(safetensors_bytes({})), HasSubstr("is damaged, or not a checkpoint"));
}

TEST(CheckpointCorpus, IsOfTheFormatThatIsRead) {
  // With an older version, the fuzzer would never get past the head.
  const fs::path corpus = fs::path(SEAM_SOURCE) / "tests/fuzz/corpus/checkpoint";
  EXPECT_EQ(read_checkpoint(corpus / "counting.safetensors").stages.size(), 1U);
  EXPECT_EQ(read_checkpoint(corpus / "tensors.safetensors").stages.size(), 2U);
}

class CheckpointFolderTest : public CheckpointTest {
 protected:
  [[nodiscard]] CheckpointFolder checkpoints() const {
    return CheckpointFolder(folder_.path() / "checkpoints");
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const fs::path& path : checkpoints().files()) names.push_back(path.filename());
    return names;
  }
  void write(std::int64_t epochs, std::int64_t best_epochs) const {
    Checkpoint checkpoint;
    checkpoint.position.epochs_done = epochs;
    checkpoint.position.best = 1;
    checkpoint.position.best_epochs = best_epochs;
    checkpoints().write(checkpoint);
  }
  void damage(const std::string& name) const {
    fs::resize_file(folder_.path() / "checkpoints" / name, 40);
  }
};

TEST_F(CheckpointFolderTest, KeepsAsManyAsAskedForAndTheBest) {
  const auto write_one = [this](std::int64_t epochs, std::int64_t last) {
    Checkpoint checkpoint;
    checkpoint.position.epochs_done = epochs;
    checkpoint.position.best = 1;  // by stop_early; `keep` takes precedence
    checkpoint.position.best_epochs = 2;
    checkpoint.position.best_kept = {"loss.loss", 0.5, std::min<std::int64_t>(epochs, 3)};
    checkpoints().write(checkpoint, last);
  };
  for (std::int64_t epochs = 1; epochs <= 6; ++epochs) write_one(epochs, 1);
  EXPECT_THAT(names(), ElementsAre("epoch-6.safetensors", "epoch-3.safetensors"));
  for (std::int64_t epochs = 7; epochs <= 9; ++epochs) write_one(epochs, 3);
  EXPECT_THAT(names(), ElementsAre("epoch-9.safetensors", "epoch-8.safetensors",
                                   "epoch-7.safetensors", "epoch-3.safetensors"));
  EXPECT_EQ(
      read_safetensors(folder_.path() / "checkpoints/epoch-9.safetensors").metadata.at("seam.best"),
      "epoch-3.safetensors");
}

TEST_F(CheckpointTest, AFlowUnderWayIsReadAsItWasWritten) {
  Checkpoint within = example();
  within.position.flows_done = 2;
  within.epoch_means = {"odd \xff%", "recall.r@1"};
  within.flow = {"train", {7, 224, 3, {{"decode", "a\xff.jpg", "no \n picture", Fault::data}}}, {}};
  within.flow->recorded["loss"]["loss"] = {0.1, -0.0, std::numeric_limits<double>::infinity()};
  within.flow->recorded["loss"]["odd/\xff%"] = {3};
  EXPECT_EQ(rewritten(within), within);
  within.flow->recorded = {{"loss", {{"loss", {std::numeric_limits<double>::quiet_NaN()}}}}};
  EXPECT_TRUE(std::isnan(rewritten(within).flow->recorded["loss"]["loss"].front()));
}

TEST_F(CheckpointFolderTest, WithinAnEpochTheLastTwoAreKeptUntilItsEnd) {
  const auto within = [this](std::int64_t epochs, std::int64_t flows, std::uint64_t steps) {
    Checkpoint checkpoint;
    checkpoint.position.epochs_done = epochs;
    checkpoint.position.flows_done = flows;
    if (steps > 0) checkpoint.flow = {"train", {steps, steps * 3, 0, {}}, {}};
    checkpoints().write(checkpoint);
  };
  write(1, 1);
  write(2, 1);
  for (const std::uint64_t steps : {5U, 50U, 100U}) within(2, 0, steps);
  EXPECT_THAT(names(), ElementsAre("epoch-2-step-100.safetensors", "epoch-2-step-50.safetensors",
                                   "epoch-2.safetensors", "epoch-1.safetensors"));
  within(2, 1, 0);
  within(2, 1, 5);
  EXPECT_THAT(names(),
              ElementsAre("epoch-2-flow-1-step-5.safetensors", "epoch-2-flow-1.safetensors",
                          "epoch-2.safetensors", "epoch-1.safetensors"));
  EXPECT_EQ(checkpoints().newest().checkpoint->flow->point.inputs, 15U);
  write(3, 1);
  EXPECT_THAT(names(),
              ElementsAre("epoch-3.safetensors", "epoch-2.safetensors", "epoch-1.safetensors"))
      << "the best, too";
  within(3, 0, 8);
  within(3, 0, 4);
  EXPECT_EQ(names().front(), "epoch-3-step-4.safetensors")
      << "a run that resumed before step 8 must not jump to it";
}

TEST(CheckpointName, IsReadAsItIsWritten) {
  for (const CheckpointName& name :
       {CheckpointName{0, 0, 0}, CheckpointName{12, 0, 0}, CheckpointName{3, 0, 500},
        CheckpointName{3, 2, 0}, CheckpointName{3, 2, 7}, CheckpointName{3, 0, 0, true}}) {
    EXPECT_EQ(checkpoint_name(to_text(name)), name) << to_text(name);
  }
  EXPECT_EQ(to_text(CheckpointName{3, 1, 500}), "epoch-3-flow-1-step-500.safetensors");
  EXPECT_EQ(to_text(CheckpointName{3, 0, 0, true}), "epoch-3-after.safetensors");
  for (const char* other : {"epoch-.safetensors", "epoch-3", "epoch-03.safetensors",
                            "epoch--3.safetensors", "epoch-3-step-.safetensors",
                            "epoch-3-step-4-flow-1.safetensors", "epoch-3-step-4.safetensors.part",
                            "epoch-3-flow-1 .safetensors", "epoch-3-after-step-4.safetensors"}) {
    EXPECT_FALSE(checkpoint_name(other)) << other;
  }
}

TEST_F(CheckpointFolderTest, OtherFilesAreLeftAlone) {
  folder_.write("checkpoints/epoch-x.safetensors", "");
  folder_.write("checkpoints/epoch-3.safetensors.part", "");
  folder_.write("checkpoints/notes.txt", "");
  for (std::int64_t epochs = 1; epochs <= 4; ++epochs) write(epochs, epochs);
  EXPECT_THAT(names(), ElementsAre("epoch-4.safetensors", "epoch-3.safetensors"));
  EXPECT_TRUE(fs::exists(folder_.path() / "checkpoints/notes.txt"));
}

TEST_F(CheckpointFolderTest, TheNewestThatIsWholeIsUsed) {
  EXPECT_EQ(checkpoints().newest().checkpoint, std::nullopt);
  EXPECT_THAT(names(), IsEmpty());
  write(1, 1);
  write(2, 2);
  EXPECT_EQ(checkpoints().newest().checkpoint->position.epochs_done, 2);
  damage("epoch-2.safetensors");
  const CheckpointFolder::Newest newest = checkpoints().newest();
  EXPECT_EQ(newest.checkpoint->position.epochs_done, 1);
  EXPECT_EQ(newest.file.filename(), "epoch-1.safetensors");
  ASSERT_EQ(newest.damaged.size(), 1U);
  EXPECT_THAT(newest.damaged[0].how, HasSubstr("epoch-2.safetensors' is damaged"));
  damage("epoch-1.safetensors");
  EXPECT_REFUSED((void)checkpoints().newest(), Fault::data,
                 "no checkpoint of this run can be used");
  EXPECT_REFUSED((void)checkpoints().newest(), Fault::data, "epoch-1.safetensors' is damaged");
}

TEST_F(CheckpointFolderTest, ADamagedFileIsKeptUnderAnotherName) {
  write(1, 1);
  for (const char* aside : {"epoch-2.safetensors.damaged", "epoch-2.safetensors.damaged-2"}) {
    write(2, 2);
    damage("epoch-2.safetensors");
    const CheckpointFolder::Newest newest = checkpoints().newest();
    ASSERT_EQ(newest.damaged.size(), 1U);
    EXPECT_EQ(CheckpointFolder::set_aside(newest.damaged[0].file).filename(), aside);
    EXPECT_THAT(names(), ElementsAre("epoch-1.safetensors"));
    EXPECT_EQ(fs::file_size(folder_.path() / "checkpoints" / aside), 40U);
  }
  for (std::int64_t epochs = 2; epochs <= 6; ++epochs) write(epochs, epochs);
  EXPECT_TRUE(fs::exists(folder_.path() / "checkpoints/epoch-2.safetensors.damaged"));
}

TEST_F(CheckpointFolderTest, AFileThatCannotBeReadIsNotPassedOver) {
  write(1, 1);
  const fs::path two = folder_.path() / "checkpoints/epoch-2.safetensors";
  fs::create_directory(two);
  EXPECT_REFUSED((void)checkpoints().newest(), Fault::data,
                 "epoch-2.safetensors': Is a directory; make it readable");
  fs::remove(two);
  fs::create_symlink(two, two);
  EXPECT_REFUSED((void)checkpoints().newest(), Fault::data,
                 "cannot open '" + two.string() + "': Too many levels of symbolic links");
  EXPECT_THAT(names(), ElementsAre("epoch-2.safetensors", "epoch-1.safetensors"))
      << "nothing was removed";
}

TEST_F(CheckpointFolderTest, AFolderThatCannotBeLookedThroughIsNotAnEmptyOne) {
  folder_.write("checkpoints", "a file");
  EXPECT_REFUSED((void)checkpoints().newest(), Fault::data, "checkpoints': Not a directory");
}

}  // namespace seam::host::checkpoint_test
