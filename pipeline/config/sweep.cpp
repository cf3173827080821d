#include "pipeline/config/sweep.hpp"

#include "pipeline/config/axis.hpp"
#include "pipeline/config/merge.hpp"
#include "pipeline/config/values.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

constexpr double most_draws = 10'000;

void check_axes(const Entry& over, const VariantNames& variants, Findings& findings) {
  for (const Node* node : read_texts(over, "[sweep]", findings)) {
    try {
      (void)parse_axes({*node->text()}, variants);
    } catch (const Error& error) {
      findings.error("sweep", node->place, error.what());
    }
  }
}

}  // namespace

HostTable sweep_table(SweepSpec& sweep) {
  auto& [over, random, random_seed] = sweep;
  HostTable table("[sweep]", "Parameter values for `seam sweep`; `seam run` ignores this table.");
  table.key("over", over,
            "axes: `\"stage.loss.margin=0.2,0.5,1\"`, `\"pipeline.seed=1..3\"`, for random search "
            "`\"stage.adam.rate=1e-4..1e-2:log\"`; keys that change together are separated by "
            "commas. `\"variant=a,b\"` goes over variants, `\"variant.GROUP\"` over those of a "
            "group and `\"variants\"` over all groups. `--over` replaces the list");
  table
      .key("random", random,
           "random search: number of combinations to draw instead of running all of them")
      .range(1, most_draws);
  table.default_is("all combinations");
  table.key("random_seed", random_seed, "seed of the random search");
  return table;
}

SweepSpec read_sweep(const Table& tree, const VariantNames& variants, Findings& findings) {
  SweepSpec sweep;
  const Table* table = read_table(tree, "sweep", findings);
  if (table == nullptr) return sweep;
  const std::size_t errors_before = findings.errors();
  read_keys(sweep_table(sweep), *table, findings);
  const Entry* over = table->find("over");
  if (over != nullptr && findings.errors() == errors_before) check_axes(*over, variants, findings);
  return sweep;
}

LoadedSweep load_sweep(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const Environment& environment) {
  Sources sources;
  Findings findings(sources);
  LoadedSweep loaded;
  if (std::optional<Table> tree = read_with_bases(file, environment, sources, findings)) {
    const Variants variants(*tree, findings);
    loaded.variants = variants.names();
    (void)apply_overrides(*tree, overrides, environment, sources, findings);
    if (Entry* entry = tree->find("sweep")) {
      // Variables elsewhere are the checks' of each run.
      Table alone{{*entry}};
      expand_tree(alone, environment, sources, findings);
      loaded.spec = read_sweep(alone, loaded.variants, findings);
    }
  }
  loaded.problems = findings.in_order();
  return loaded;
}

}  // namespace seam::host
