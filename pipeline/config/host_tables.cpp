#include "pipeline/config/host_tables.hpp"

namespace seam::host {
namespace {

constexpr double most_threads = 4096;
constexpr double most_concurrency = 4096;
constexpr double most_lanes = 4096;
constexpr double most_retries = 100;
constexpr double most_stall_seconds = 1e9;
constexpr double most_epochs = 1e9;
constexpr double least_minutes = 0.01;
constexpr double most_minutes = 1e6;

}  // namespace

// The structured bindings below name every member: a new one does not compile until its key is
// declared.

HostTable pipeline_table(PipelineSpec& spec) {
  auto& [file, name, seed, threads, device, precision, lanes, deterministic, max_errors,
         max_error_share, plugin_paths, tensorboard, twin, differs_in, limits, stages, paths, flows,
         schedule, chosen, roles, resolved] = spec;
  HostTable table("[pipeline]", "The run as a whole.");
  table.key("name", name, "names the run's folder and its reports");
  table.default_is("the file's name");
  table.key("seed", seed, "seed of all random numbers");
  table
      .key("threads", threads,
           "the thread limit that TBB, OpenMP, LibTorch, OpenCV and BLAS share; `--threads` "
           "overrides it")
      .range(1, most_threads);
  table.default_is("the available cores");
  table.key("device", device,
            "device of the stages on the compute thread: `\"cpu\"`, `\"cuda\"` (the first GPU), "
            "`\"cuda:1\"`, or `\"auto\"`: the first GPU if there is one. A device that does not "
            "exist is an error before anything is opened");
  table.key<Precision>(
      "precision", precision,
      "floating-point precision, unless a stage sets its own. With bfloat16, operations that "
      "benefit from it compute in bfloat16; weights, losses and everything stored stay float32",
      {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}});
  table
      .key("lanes", lanes.count,
           "number of parts in which networks compute the rows of a training batch, one after the "
           "other, each with its own batch statistics; losses see the whole batch")
      .range(1, most_lanes);
  table.default_is_comment();
  table.key<LaneMemory>(
      "lanes_memory", lanes.memory,
      "what networks keep of a lane for its gradient: everything, or nothing, so that each lane is "
      "computed twice and a batch needs the memory of one. The results are the same on a CPU",
      {{"keep", LaneMemory::keep}, {"recompute", LaneMemory::recompute}});
  table.default_is_comment();
  table.key("deterministic", deterministic,
            "use only operations that give the same bits each time; one without a deterministic "
            "implementation is reported by name. `false` may be faster on a GPU");
  table.key(
      "max_errors", CountOrShare{&max_errors, &max_error_share},
      "how many packets the whole run may skip, such as 20; one more ends it. Or a fraction, such "
      "as 0.01, of the packets that a stage receives in a flow, checked when the flow ends");
  table.default_is("no limit");
  table.key("plugins", plugin_paths,
            "plugin files or folders, relative to this file; `SEAM_PLUGIN_PATH` and Seam's own "
            "folder are searched as well. Two plugins that offer the same stage are an error");
  table.key(
      "tensorboard",
      ShortOrTable<std::optional<TensorBoardSpec>>{&tensorboard, tensorboard_table, Short::flag, "",
                                                   "true, false or { histograms = [\"model.*\"] }"},
      "`true`: the run also writes its metrics and images as a TensorBoard event file into its "
      "folder. `{ histograms = [\"model.*\"] }` adds histograms of the weights that match "
      "STAGE.TENSOR, with each checkpoint after an epoch");
  table.default_is("`false`");
  table.key("twin", twin,
            "another pipeline file, relative to this one, with which it is compared: `seam check` "
            "reports all differences that can change results but those of `differs_in`. Files that "
            "extend this one do not inherit it");
  table.default_is("none");
  table.is_shorthand();
  table.key("differs_in", differs_in,
            "keys in which the twin may differ, or their beginnings, such as `[\"stage.model\", "
            "\"flow.train\"]`");
  table.is_shorthand();
  return table;
}

HostTable limits_table(LimitSpec& limits) {
  auto& [packets, bytes, stall_seconds] = limits;
  HostTable table("[limits]", "How much may be in flight in a flow.");
  table.key("packets", packets, "packets in flight at once; at the limit, sources wait")
      .at_least(1);
  table
      .key("bytes", bytes,
           "the same in bytes: a number, or a text such as `\"512 MiB\"`. A new packet reserves "
           "what recent packets of the same source or collector needed, and a packet that grows "
           "beyond that is counted at once, so a flow can exceed the limit by what was in flight "
           "when packets became larger. One packet is always admitted, however large. Packets that "
           "a collector holds take room as well; if one collector holds more than the limit, the "
           "run ends with an error")
      .at_least(1)
      .unit(std::string(bytes_unit));
  table.default_is("256 MiB");
  table
      .key("stall_seconds", stall_seconds,
           "warn if no stage of a flow has finished anything for this long, and list what each "
           "stage is doing; 0: never")
      .range(0, most_stall_seconds);
  return table;
}

HostTable schedule_table(ScheduleSpec& schedule) {
  auto& [epochs, before, each_epoch, after, floors, stop_early, checkpoint_every, keep] = schedule;
  HostTable table("[schedule]", "Which flow runs when; without it, every flow runs once.");
  table.key("epochs", epochs, "how often `each_epoch` runs").range(1, most_epochs);
  table.key("before", before,
            "flows to run once, before the first epoch. Their scores are shown next to the later "
            "scores, as the values before training");
  table.key("each_epoch", FlowTurns{&each_epoch},
            "`\"train\"`, or `{ flow = \"evaluate\", every = 5 }`: in every fifth epoch and in the "
            "last; if `stop_early` ends the run, a flow that trains is not run in addition");
  table.default_is("all other flows, in order");
  table.key("after", after, "flows to run once, after the last epoch");
  table.key("floors", floors,
            "stages that measure a baseline which the model must exceed, such as a "
            "`retrieval.recall` after `baseline.pixels`. Their values are shown next to the scores "
            "of other stages with the same type, data and protocol");
  table.key(
      "stop_early",
      ShortOrTable<std::optional<StopEarly>>{&stop_early, stop_early_table, Short::off, "",
                                             "{ metric = \"STAGE.METRIC\", patience = 7 }"},
      "`{ metric = \"recall.none.r@1\", patience = 7, goal = \"highest\" }`: stop after this "
      "many measurements without improvement. `goal` is only needed for a metric that its "
      "stage does not declare as a headline, such as `\"lowest\"` for an error. A measurement "
      "is the mean over the flow. `false`: never, even if an extended file sets it");
  table.default_is("never");
  table.key(
      "checkpoint_every",
      ShortOrTable<CheckpointEvery>{&checkpoint_every, checkpoint_table, Short::count, "epochs",
                                    "a number of epochs, or { steps = 500 } or { minutes = 10 }"},
      "epochs between two checkpoints; `{ steps = 500 }` and `{ minutes = 10 }` also write "
      "checkpoints within training flows, after the next complete step");
  table.key(
      "keep",
      ShortOrTable<KeepRule>{&keep, keep_table, Short::count, "last",
                             "a number of checkpoints, or { best = \"STAGE.METRIC\", last = 2 }"},
      "how many checkpoints of whole epochs are kept: the newest; with `{ best = "
      "\"recall.none.r@1\", last = 2 }` also the best by a headline of a stage, such as a "
      "recall or a loss. With `stop_early` and without `best`, the best is the one that it "
      "measured");
  return table;
}

HostTable chosen_table(ChosenSpec& chosen) {
  auto& [variants, decides, set] = chosen;
  HostTable table(
      "[chosen]",
      "Variants and `--set` keys that a run was started with, as in its resolved.toml.");
  table.key("variants", variants, "`\"GROUP=NAME\"`, or `\"NAME\"` of a variant in no group");
  table.key("decides", decides, "stages and keys that the variants decide");
  table.key("set", set, "keys that `--set` changed");
  return table;
}

HostTable stage_table(StageSpec& stage) {
  auto& [name, use, like, place, values, from_fields, references, on_error, retries, concurrency] =
      stage;
  HostTable table("[stage.NAME]", "A stage: a name of your choice, and its type.");
  table.key("use", use, "the stage's type, `FAMILY.NAME`; `seam plugins` lists them");
  table.is_required();
  table.default_is("required, or `like`");
  table.key("like", like,
            "name of another stage in the file; `use` and all keys that this stage does not set "
            "are taken from there");
  table.default_is("none");
  table.is_shorthand();
  table.key("on_error", ErrorPolicy{&on_error, &retries},
            "what happens if the stage fails on a packet. `\"fail\"`: the run ends; `\"skip\"`: "
            "the packet is dropped, counted and listed in `skipped.jsonl`; `{ retry = 3 }`: it is "
            "tried again first. A source takes only `\"fail\"`, and a collector cannot retry");
  table.default_is("`\"fail\"`");
  table.key("concurrency", concurrency, "how many packets a parallel stage may process at once")
      .range(1, most_concurrency);
  table.default_is("the thread limit");
  return table;
}

HostTable turn_table(ScheduledFlow& turn) {
  auto& [flow, every] = turn;
  HostTable table("an entry of 'each_epoch'", "A flow that does not run in every epoch.");
  table.key("flow", flow, "the flow's name");
  table.is_required();
  table.key("every", every, "5: in every fifth epoch and in the last").range(1, most_epochs);
  return table;
}

HostTable stop_early_table(StopEarly& rule) {
  auto& [metric, patience, goal] = rule;
  HostTable table("'stop_early'",
                  "Stops the run after this many measurements without improvement.");
  table.key("metric", metric, "STAGE.METRIC, such as \"recall.none.r@1\"");
  table.is_required();
  table.key("patience", patience, "measurements without improvement").range(1, most_epochs);
  table.key<Goal>("goal", goal, "which values are better",
                  {{"highest", Goal::highest}, {"lowest", Goal::lowest}});
  return table;
}

HostTable checkpoint_table(CheckpointEvery& rule) {
  auto& [epochs, steps, minutes] = rule;
  HostTable table("'checkpoint_every'", "How often a checkpoint is written.");
  table.key("epochs", epochs, "epochs between two checkpoints").range(1, most_epochs);
  table.key("steps", steps, "steps of a training flow between two checkpoints").at_least(1);
  table
      .key("minutes", minutes,
           "minutes between two checkpoints; they are written between two steps of a training flow")
      .range(least_minutes, most_minutes);
  return table;
}

HostTable tensorboard_table(TensorBoardSpec& rule) {
  auto& [histograms] = rule;
  HostTable table("'tensorboard'", "Content of the TensorBoard event file in addition to metrics.");
  table.key("histograms", histograms,
            "weights to draw, STAGE.TENSOR with `*` for any characters and `?` for one");
  return table;
}

HostTable keep_table(KeepRule& rule) {
  auto& [best, last, better] = rule;
  HostTable table("'keep'", "Which checkpoints of whole epochs are kept.");
  table.key("best", best,
            "STAGE.METRIC, such as \"recall.none.r@1\" or \"triplet_loss.loss\": the checkpoint of "
            "the epoch with its best mean is kept as well");
  table.key("last", last, "how many of the newest are kept").range(1, most_epochs);
  return table;
}

HostTable retry_table(int& retries) {
  HostTable table("'on_error'", "");
  table.key("retry", retries, "how often a packet is tried again").range(1, most_retries);
  return table;
}

}  // namespace seam::host
