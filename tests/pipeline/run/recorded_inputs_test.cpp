#include "pipeline/run/recorded_inputs.hpp"

#include <filesystem>
#include <memory>

#include "seam/stage.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::recorded_inputs_test {

class Network final : public Sink {
 public:
  void declare(Declaration& d) override {
    d.parameter("weights", weights_, "").initial();
    d.parameter("squash", squash_, "");
    d.parameter("freeze", freeze_, "");
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}

 private:
  std::filesystem::path weights_;
  std::string squash_;
  std::vector<std::string> freeze_;
};

TEST(RecordedInputs, WeightsOfARunBelongToItsNetwork) {
  const seam::test::TemporaryFolder folder;
  Launch training;
  training.data = {{"stage.items.list", "1"}, {"stage.model.file", "2"}};
  folder.write("run/resolved.toml", headed_text(training, ""));
  folder.write("run/summary.json", R"({"complete":true})");
  CheckedPipeline pipeline;
  pipeline.stages["model"] =
      std::make_unique<StageRunner>("model", "test.network", std::make_unique<Network>());
  StageSpec& stage = pipeline.spec.stages.emplace_back();
  stage.name = "model";
  Launch now;
  now.data = {{"stage.items.list", "8"}, {"stage.model.file", "9"}};
  EXPECT_THAT(check_imported_files(pipeline, now), IsEmpty()) << "nothing is imported";
  stage.values["weights"] = (folder.path() / "run").string();
  EXPECT_THAT(
      check_imported_files(pipeline, now),
      ElementsAre(HasSubstr("the content of stage.model.file is not that of '" +
                            (folder.path() / "run").string() + "', from which stage 'model'")));
  now.data["stage.model.file"] = "2";
  EXPECT_THAT(check_imported_files(pipeline, now), IsEmpty()) << "only the data differs";
  folder.write("run/resolved.toml",
               headed_text(training,
                           "[stage.model]\nsquash = \"a\"\nfreeze = [\"x\"]\non_error = \"fail\"\n"
                           "[stage.other]\nsize = 1\n"));
  pipeline.spec.resolved =
      "[stage.model]\nsquash = \"b\"\nfreeze = []\non_error = \"skip\"\nweights = \"run\"\nnew = "
      "1\n"
      "[stage.other]\nsize = 2\n";
  EXPECT_THAT(check_imported_files(pipeline, now),
              ElementsAre(HasSubstr("but has stage.model.squash = \"b\" (was \"a\"); the")));
  stage.values["weights"] = folder.write("weights.safetensors", "").string();
  EXPECT_THAT(check_imported_files(pipeline, now), IsEmpty()) << "another program's";
}

}  // namespace seam::host::recorded_inputs_test
