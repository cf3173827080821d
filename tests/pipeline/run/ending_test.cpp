#include "pipeline/run/ending.hpp"

#include <limits>
#include <sstream>

#include "tests/support/matchers.hpp"

namespace seam::host::ending_test {

Score score(const std::string& metric, double value, std::int64_t epoch, const Score::Best& best) {
  Score score;
  score.metric = metric;
  score.value = value;
  score.flow = "evaluate";
  score.epoch = epoch;
  score.best = best;
  return score;
}

ScheduleSpec epochs(std::int64_t count) {
  ScheduleSpec schedule;
  schedule.epochs = count;
  schedule.each_epoch = {{"evaluate", 1}};
  return schedule;
}

std::vector<Score> two() {
  Score recall = score("recall.none.r@1", 0.66312, 23, {0.671, 19});
  recall.standard_error = 0.0214;
  recall.protocol = "shop/img64";
  return {recall, score("triplet_loss.loss", 3.21345, 23, {3.21345, 23})};
}

TEST(ScoreTable, HasWhatIsKnown) {
  EXPECT_EQ(score_table(two(), epochs(24), {}),
            "\nscore after epoch 24 of 24\n"
            "metric             value  std. error  best   epoch  protocol\n"
            "recall.none.r@1    0.663  ± 0.021     0.671  20     shop/img64\n"
            "triplet_loss.loss  3.213              3.213  24\n");
  EXPECT_EQ(score_table({}, epochs(24), {}), "");
}

TEST(ScoreTable, ShowsWhatAScoreShouldBeBetterThan) {
  std::vector<Score> scores = two();
  scores[0].protocol.clear();
  scores[0].beside = {{"chance", 0.0043, {}}, {"before", 0.1214, 0.03}, {"pixels", 0.65, 0.02}};
  EXPECT_EQ(score_table(scores, epochs(24), {}),
            "\nscore after epoch 24 of 24\n"
            "metric             value  std. error  chance  before  pixels  best   epoch\n"
            "recall.none.r@1    0.663  ± 0.021     0.004   0.121   0.650   0.671  20\n"
            "triplet_loss.loss  3.213                                      3.213  24\n"
            "warning: recall.none.r@1 is not above pixels by two standard errors\n");
  scores[0].beside[2].value = 0.2;
  EXPECT_THAT(score_table(scores, epochs(24), {}), Not(HasSubstr("warning")));
  EXPECT_THAT(
      score_table(scores, epochs(24), {60, false}),
      EndsWith("24\ncompare recall.none.r@1 with chance 0.004, before 0.121, pixels 0.200\n"))
      << "below the table if it is too wide for the screen";
}

TEST(ScoreTable, AScoreFromBeforeTheEpochsIsNoneOfTheTrainedNetwork) {
  std::vector<Score> scores = two();
  scores[0].when = "before";
  scores[0].epoch = 0;
  scores[0].best.reset();
  scores[0].protocol.clear();
  EXPECT_EQ(score_table(scores, epochs(24), {}),
            "\nscore\n"
            "metric             value  std. error  epoch   best   best epoch\n"
            "recall.none.r@1    0.663  ± 0.021     before\n"
            "triplet_loss.loss  3.213              24      3.213  24\n");
}

TEST(ScoreTable, WithoutEpochsThereIsNoBest) {
  EXPECT_EQ(score_table({score("recall.r@1", 0.5, 0, {0.5, 0})}, epochs(1), {}),
            "\nscore\n"
            "metric      value\n"
            "recall.r@1  0.5\n");
}

TEST(ScoreTable, SaysOfWhichEpochAValueIsWhereTheyDiffer) {
  std::vector<Score> scores = two();
  scores[1].epoch = 21;
  Score after = score("recall.none.r@1", 0.6, 23, {0.6, 23});
  after.flow = "test";
  after.when = "after";
  scores.push_back(after);
  EXPECT_EQ(score_table(scores, epochs(24), {200, false}),
            "\nscore\n"
            "metric                      value  std. error  epoch  best   best epoch  protocol\n"
            "recall.none.r@1 (evaluate)  0.663  ± 0.021     24     0.671  20          shop/img64\n"
            "triplet_loss.loss           3.213              22     3.213  24\n"
            "recall.none.r@1 (test)      0.6                after\n");
}

TEST(ScoreTable, FitsTheScreen) {
  std::vector<Score> scores = two();
  scores[0].protocol = "a protocol that is longer than the room beside the numbers";
  EXPECT_THAT(score_table(scores, epochs(24), {}),
              EndsWith("triplet_loss.loss  3.213              3.213  24\n"
                       "protocol: a protocol that is longer than the room beside the numbers\n"));
  scores[0].protocol.clear();
  scores[0].metric = "a_stage_with_a_name_that_goes_on_and_on_and_on_and_on.predicted.r@1";
  const std::string table = score_table(scores, epochs(24), {});
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 80U) << line;
  EXPECT_THAT(table, HasSubstr("…hat_goes_on_and_on_and_on_and_on.predicted.r@1  0.663"));
}

TEST(ScoreTable, SaysWhatChoseTheWeightsThatItBeganWith) {
  std::vector<Score> scores = two();
  const SelectedWeights weights{"model", "runs/x/checkpoints/epoch-9.safetensors",
                                "evaluate:recall.none.r@1", "", SelectedOn::test};
  scores[0].weights = {weights};
  scores[1].weights = {weights, {"head", "h.safetensors", "", "", SelectedOn::unknown}};
  scores[1].weights[0].selected_on = SelectedOn::val;
  EXPECT_THAT(
      score_table(scores, epochs(24), {}),
      EndsWith("3.213  24\n"
               "model started from runs/x/checkpoints/epoch-9.safetensors,\n"
               "  the best by evaluate:recall.none.r@1\n"
               "  selected on the data of 'evaluate' itself, so the score is biased upwards\n"
               "head started from h.safetensors,\n"
               "  how it was selected is unknown\n"));
}

TEST(ScoreTable, SaysOnceWhatReadsLabelsAndWhichPredictionNothingTrains) {
  std::vector<Score> scores = two();
  for (Score& score : scores) {
    score.labels_read = {{"evaluate", "search", "categories"}};
    score.untrained = {{"evaluate", "search", "predicted_category", "model", "class_lengths"}};
  }
  EXPECT_THAT(score_table(scores, epochs(24), {}),
              EndsWith("3.213  24\nevaluate reads labels: categories in search\n"
                       "evaluate evaluates a guess: search reads predicted_category, but no loss "
                       "trains class_lengths of model\n"));
}

TEST(ScoreTable, WhatIsNoNumberIsSaidSo) {
  Score bad = score("loss.loss", std::numeric_limits<double>::quiet_NaN(), 3, {});
  bad.best.reset();
  EXPECT_THAT(score_table({bad}, epochs(4), {}), HasSubstr("loss.loss  nan\n"));
  EXPECT_THAT(score_table({bad}, epochs(4), {80, true}), HasSubstr("\x1b[31mnan\x1b[0m"));
}

TEST(ScoreTable, ErrorsHaveTwoDigits) {
  const auto row = [](double value, double error) {
    Score one = score("r", value, 0, {value, 0});
    one.standard_error = error;
    return score_table({one}, epochs(1), {});
  };
  EXPECT_THAT(row(0.5, 0), HasSubstr("r       0.5    ± 0\n"));
  EXPECT_THAT(row(0.123456, 0.00056), HasSubstr("r       0.12346  ± 0.00056\n"));
  EXPECT_THAT(row(1234, 56), HasSubstr("r       1234   ± 56\n"));
}

TEST(ShellPath, IsReadByAShellAsOneWord) {
  EXPECT_EQ(shell_path("/home/me/runs/demo-1", "/home/me"), "runs/demo-1");
  EXPECT_EQ(shell_path("/data/demo-1", "/home/me"), "/data/demo-1");
  EXPECT_EQ(shell_path("/home/me/my runs/a", "/home/me"), "'my runs/a'");
  EXPECT_EQ(shell_path("/home/me/it's", "/home/me"), "'it'\\''s'");
  EXPECT_EQ(shell_path("/home/me/$x", ""), "'/home/me/$x'");
}

TEST(NextText, OffersToResumeWhatIsNotComplete) {
  RunSummary summary;
  EXPECT_EQ(next_text(summary, {}, {}), "");
  summary.run_directory = "/data/run";
  EXPECT_EQ(next_text(summary, {}, {}), "\nrun   /data/run\nnext  seam run --resume /data/run\n");
  summary.code = ExitCode::configuration;
  EXPECT_EQ(next_text(summary, {}, {}), "\nrun   /data/run\n") << "it would fail again";
  summary.code = ExitCode::success;
  summary.complete = true;
  EXPECT_EQ(next_text(summary, {}, {}), "\nrun   /data/run\nnext  seam report /data/run\n");
}

}  // namespace seam::host::ending_test
