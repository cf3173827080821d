#include "pipeline/plugins/ranks_engine.hpp"

#include <array>
#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "pipeline/plugins/registry.hpp"
#include "pipeline/text/parse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

/// Open MPI's mpirun; MPICH's, and srun --mpi=pmi2.
constexpr std::array<std::string_view, 2> sizes{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
/// srun --mpi=pmix sets the first, which has no size, so the size is that of the job step.
constexpr std::string_view pmix = "PMIX_RANK";
constexpr std::string_view step_size = "SLURM_STEP_NUM_TASKS";

int size_in(const std::map<std::string, std::string>& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() ? 0 : number_in<int>(found->second).value_or(0);
}

}  // namespace

Launched launched(const std::map<std::string, std::string>& environment) {
  for (const std::string_view name : sizes) {
    if (const int world = size_in(environment, name); world > 1) return {std::string(name), world};
  }
  const int world = size_in(environment, step_size);
  if (environment.contains(std::string(pmix)) && world > 1) return {std::string(step_size), world};
  return {};
}

void forget_launch(std::map<std::string, std::string>& environment) {
  for (const std::string_view name : sizes) environment.erase(std::string(name));
  environment.erase(std::string(pmix));
}

std::unique_ptr<Ranks> join_ranks(const Launched& launched) {
  // Its name changes with seam::Ranks.
  constexpr const char* entry = "seam_connect_ranks";
  namespace dll = boost::dll;
  const fs::path library = own_prefix() / "lib/seam/seam_mpi.so";
  const std::string who =
      "this process is one of " + std::to_string(launched.world) + " (" + launched.variable + ")";
  std::error_code error;
  if (!fs::exists(library, error)) {
    throw Error(who + ", but '" + library.string() +
                    "', which connects them, does not exist: install MPI (scripts/setup --mpi) and "
                    "build Seam again; for independent processes, unset " +
                    launched.variable,
                Fault::configuration);
  }
  boost::dll::fs::error_code problem;
  // Never unloaded. Global, because MPI loads parts of itself that look for its symbols.
  static dll::shared_library& loaded = *std::make_unique<dll::shared_library>().release();
  loaded.load(library.string(), dll::load_mode::rtld_now | dll::load_mode::rtld_global, problem);
  if (problem) {
    throw Error(who + ", but '" + library.string() + "' cannot be loaded: " + problem.message(),
                Fault::configuration);
  }
  if (!loaded.has(entry)) {
    throw Error(who + ", but '" + library.string() +
                    "' was built for another version of Seam: build and install it again",
                Fault::configuration);
  }
  std::unique_ptr<Ranks> ranks(loaded.get<Ranks*()>(entry)());
  if (ranks->world() == launched.world) return ranks;
  throw Error(who + ", but MPI knows of " + std::to_string(ranks->world()) +
                  ": start them with the launcher of the MPI that '" + library.string() +
                  "' was built with",
              Fault::configuration);
}

}  // namespace seam::host
