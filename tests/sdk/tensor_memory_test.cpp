#include "seam/tensor_memory.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace seam::tensor_memory::tensor_memory_test {

/// The levels since the last call, without what earlier tests left.
class TensorMemory : public ::testing::Test {
 protected:
  TensorMemory() : before_(take()) {}
  Levels more() const {
    Levels levels = take();
    for (const auto level : {&Levels::compute, &Levels::all}) {
      (levels.*level).now -= (before_.*level).now;
      (levels.*level).most -= (before_.*level).now;
    }
    return levels;
  }

 private:
  Levels before_;
};

TEST_F(TensorMemory, MostIsThatSinceTheLastTime) {
  const Owner owner = allocated(300);
  freed(200, owner);
  (void)allocated(50);
  Levels levels = more();
  EXPECT_EQ(levels.compute.most, 300);
  EXPECT_EQ(levels.compute.now, 150);
  freed(100, owner);
  levels = more();
  EXPECT_EQ(levels.compute.most, 150) << "at the start";
  EXPECT_EQ(levels.compute.now, 50);
  freed(50, owner);
}

TEST_F(TensorMemory, ABlockBelongsToWhoeverAllocatedIt) {
  Owner prepared = Owner::compute;
  std::thread([&] {
    const OwnerScope other(Owner::other);
    prepared = allocated(1000);
    {
      const OwnerScope nested(Owner::compute);
      freed(7, allocated(7));
    }
    freed(200, allocated(200));
  }).join();
  Owner of_worker = Owner::other;
  std::thread([&] { of_worker = allocated(64); }).join();
  Levels levels = more();
  EXPECT_EQ(levels.compute.now, 64) << "of a thread that works for this one";
  EXPECT_EQ(levels.all.now, 1064);
  EXPECT_EQ(levels.all.most, 1200);
  freed(1000, prepared);
  levels = more();
  EXPECT_EQ(levels.compute.now, 64) << "this thread did not allocate it";
  EXPECT_EQ(levels.all.now, 64);
  std::thread([&] {
    const OwnerScope other(Owner::other);
    freed(64, of_worker);
  }).join();
  EXPECT_EQ(more().compute.now, 0);
}

TEST_F(TensorMemory, ThreadsLoseNothing) {
  constexpr int rounds = 20'000;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int i = 0; i < rounds; ++i) freed(3, allocated(4));
    });
  }
  threads.clear();
  const Levels levels = more();
  EXPECT_EQ(levels.compute.now, 4 * rounds);
  EXPECT_GE(levels.compute.most, 4 * rounds);
  EXPECT_LE(levels.compute.most, 4 * rounds + 4 * 3);
  freed(4 * rounds, Owner::compute);
}

TEST(Claim, IsForTheFirst) {
  (void)claim();
  EXPECT_FALSE(claim());
}

}  // namespace seam::tensor_memory::tensor_memory_test
