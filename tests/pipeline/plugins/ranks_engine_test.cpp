#include "pipeline/plugins/ranks_engine.hpp"

#include <gtest/gtest.h>

namespace seam::host::ranks_engine_test {

TEST(Launched, LaunchersSayHowManyProcessesThereAre) {
  EXPECT_EQ(launched({{"OMPI_COMM_WORLD_SIZE", "4"}}), (Launched{"OMPI_COMM_WORLD_SIZE", 4}));
  EXPECT_EQ(launched({{"PMI_SIZE", "2"}}), (Launched{"PMI_SIZE", 2}));
  EXPECT_EQ(launched({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}}),
            (Launched{"SLURM_STEP_NUM_TASKS", 8}));
}

TEST(Launched, AProcessByItselfIsNoRank) {
  EXPECT_EQ(launched({}), Launched());
  EXPECT_EQ(launched({{"OMPI_COMM_WORLD_SIZE", "1"}}), Launched());
  EXPECT_EQ(launched({{"PMI_SIZE", "many"}}), Launched());
  EXPECT_EQ(launched({{"SLURM_STEP_NUM_TASKS", "8"}}), Launched()) << "independent tasks of srun";
}

TEST(Launched, ProcessesOfARankAreNotRanks) {
  std::map<std::string, std::string> environment{{"OMPI_COMM_WORLD_SIZE", "4"},
                                                 {"PMI_SIZE", "4"},
                                                 {"PMIX_RANK", "1"},
                                                 {"SLURM_STEP_NUM_TASKS", "4"}};
  forget_launch(environment);
  EXPECT_EQ(launched(environment), Launched());
}

}  // namespace seam::host::ranks_engine_test
