/// The library that connects ranks (seam::Ranks): lib/seam/seam_mpi.so. Only a process that a
/// launcher started as one of several loads it, so that the program does not depend on MPI.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "seam/ranks.hpp"

namespace seam::host {

/// What mpirun or srun says about this process.
struct Launched {
  std::string variable;  ///< "OMPI_COMM_WORLD_SIZE"; empty: it was started by itself
  int world = 1;

  friend bool operator==(const Launched&, const Launched&) = default;
};

[[nodiscard]] Launched launched(const std::map<std::string, std::string>& environment);

/// Removes the variables by which processes that this one starts would take themselves for its
/// rank.
void forget_launch(std::map<std::string, std::string>& environment);

/// Joins the other ranks, once per process and before it has other threads. Throws seam::Error
/// (configuration) if the library does not exist or finds other ranks than the launcher started.
[[nodiscard]] std::unique_ptr<Ranks> join_ranks(const Launched& launched);

}  // namespace seam::host
