"""A training run by several processes that mpirun starts: ranks_test.py SEAM."""

import os
import re
import shutil
import signal
import time

from judge import Judge
from lane_pipelines import CHAIN, LONG, TRIPLETS
from launched_ranks import LaunchedRanks, lanes

judge = Judge()
launched = LaunchedRanks(judge)
start, end = launched.start, launched.end
(judge.folder / "triplets.toml").write_text(TRIPLETS)
(judge.folder / "chain.toml").write_text(CHAIN)
(judge.folder / "long.toml").write_text(LONG)


def same(what, ranks, file, out, expected, *settings):
    code, errors = end(start(ranks, "run", file, "--run-dir", out, *settings))
    judge.check(f"{what}: exit code\n{errors}\n", code, 0)
    if code == 0:
        judge.check(f"{what}: the bytes of one process", judge.results(out) == expected)
        judge.check(f"{what}: what is printed once", errors.count("run directory"), 1)


# The same bytes for any number of ranks.
expected = {}
for file in ("triplets", "chain"):
    judge.run(f"{file}.toml", f"{file}-one", "--threads", "1", "--set", "pipeline.lanes=4")
    expected[file] = judge.results(f"{file}-one")
for ranks in (1, 2, 4):
    for file in ("triplets", "chain"):
        same(f"{file} by {ranks}", ranks, f"{file}.toml", f"{file}-{ranks}", expected[file], *lanes(4))
    same(f"recomputed by {ranks}", ranks, "triplets.toml", f"recomputed-{ranks}", expected["triplets"], *lanes(4, "recompute"))
same("four lanes by three", 3, "chain.toml", "uneven", expected["chain"], *lanes(4))
judge.run("chain.toml", "narrow-one", "--threads", "1", "--set", "pipeline.lanes=4", "--set", 'pipeline.precision="bfloat16"')
same("in bfloat16", 2, "chain.toml", "narrow", judge.results("narrow-one"), *lanes(4), "--set", "'pipeline.precision=\"bfloat16\"'")


def names(run):
    found = {path.relative_to(judge.folder / run) for path in (judge.folder / run).rglob("*")}
    return sorted(str(name) for name in found)


judge.check("the files in the run folder", names("chain-4"), names("chain-one"))
judge.check("folders of the other ranks are removed", list(launched.temporary.glob("seam-rank-*")), [])

# A rank that is killed ends all of them; any number of ranks resumes the run.
judge.run("long.toml", "long-one", "--threads", "1", "--set", "pipeline.lanes=4")
long = judge.results("long-one")
program = start(2, "run", "long.toml", "--run-dir", "killed", *lanes(4))
launched.wait_for("a kill", "killed/checkpoints/*-step-*.safetensors", program)
os.kill(launched.pid(1), signal.SIGKILL)
began = time.monotonic()
code, errors = end(program, 20)
judge.holds(code not in (0, "no end"), f"a killed rank: exit code {code}\n{errors}")
judge.holds(time.monotonic() - began < 15, f"a killed rank ended the others after {time.monotonic() - began} s")
code, errors = end(start(4, "run", "--resume", "killed"))
judge.check(f"resumed by four: exit code\n{errors}\n", code, 0)
judge.check("killed with two ranks, resumed by four", judge.results("killed") == long)

# A request to one rank stops all of them within the flow.
program = start(4, "run", "long.toml", "--run-dir", "stopped", *lanes(4))
launched.wait_for("a stop", "stopped/checkpoints/*-step-*.safetensors", program)
os.kill(launched.pid(3), signal.SIGUSR1)
code, errors = end(program)
judge.check(f"stopped: exit code\n{errors}\n", code, 4)
judge.holds(re.search(r"stopped on request .* after step \d+ of flow 'train'", errors), f"what a stop prints\n{errors}")
judge.holds(list((judge.folder / "stopped/checkpoints").glob("epoch-0-step-*")), "the step is kept")
judge.succeed("run", "--resume", "stopped")
judge.check("stopped with four ranks, resumed by one process", judge.results("stopped") == long)

# A flow that cannot be resumed within itself is stopped too, and repeated: `max_errors` is a fraction of all packets of a flow.
program = start(2, "run", "long.toml", "--run-dir", "repeated", *lanes(4), "--set", "pipeline.max_errors=0.5")
launched.wait_for("a stop", "repeated/run.log", program, "no checkpoints can be written within flow 'train'")
os.kill(launched.pid(1), signal.SIGUSR1)
code, errors = end(program)
judge.check(f"stopped without a point: exit code\n{errors}\n", code, 4)
judge.holds("since the last checkpoint is lost and will be repeated" in errors, f"what is lost\n{errors}")
judge.succeed("run", "--resume", "repeated")
judge.check("stopped without a point, resumed by one process", judge.results("repeated") == long)

# A job whose time is up is continued by another one.
code, errors = end(start(2, "run", "long.toml", "--run-dir", "limited", "--time-limit", "1s", *lanes(4)))
judge.check(f"a time limit: exit code\n{errors}\n", code, 4)
judge.run("long.toml", "limited", "--resume-if-present", "--set", "pipeline.lanes=4")  # slow ones have not begun
judge.check("with a time limit, resumed by one process", judge.results("limited") == long)


# A rank that fails alone: rank 1 cannot decode an image.
launched.copy_for_rank_1("damaged", "chain.toml")
for picture in (judge.folder / "damaged/wardrobe/img").rglob("*.jpg"):
    picture.write_bytes(picture.read_bytes()[:300])
began = time.monotonic()
code, errors = end(start(2, "run", "chain.toml", "--run-dir", str(judge.folder / "failed"), *lanes(4), FOLDER_OF_1="damaged"))
judge.check(f"a rank fails alone\n{errors}\n", (code, errors.count("rank 1 failed: ")), (3, 1))
judge.holds(time.monotonic() - began < 30, "a rank that fails ends the others within seconds")
judge.check("the run folder says so", "rank 1 failed: " in (judge.folder / "failed/summary.json").read_text())


# Rank 1 cannot decode an image of the second epoch, and the others must not skip the batches that it does not compute.
launched.copy_for_rank_1("partly", "chain.toml")
picture = sorted((judge.folder / "partly/wardrobe/img").rglob("*.jpg"))[108]
picture.write_bytes(picture.read_bytes()[:300])
skip = [part for stage in ("model", "descriptors", "adam", "sgd") for part in ("--set", f"'stage.{stage}.on_error=\"skip\"'")]
code, errors = end(start(2, "run", "chain.toml", "--run-dir", str(judge.folder / "skipping"), *lanes(4), *skip, FOLDER_OF_1="partly"))
judge.check(f"a rank fails alone, and stages may skip\n{errors}\n", (code, errors.count("rank 1 failed: ")), (3, 1))
judge.holds((judge.folder / "skipping/checkpoints/epoch-1.safetensors").exists(), "the rank fails in the first epoch")
judge.succeed("run", "--resume", "skipping")
judge.check("after the failure of a rank, resumed by one process", judge.results("skipping") == expected["chain"])


def refused(what, part, ranks, *arguments, code=2):
    found, errors = end(start(ranks, *arguments))
    judge.holds(found == code and errors.count(part) == 1,
                f"{what}: exit code {found}, {errors.count(part)} times '{part}'\n{errors}")


refused("no lanes", "2 ranks were started, but [pipeline] has lanes = 1", 2, "run", "chain.toml")
refused("fewer lanes than ranks", "4 ranks were started, but [pipeline] has lanes = 3", 4, "run", "chain.toml", *lanes(3))
refused("an evaluation", "only `seam run FILE` is shared out among ranks", 2, "eval", "chain-one")
refused("a file with a mistake", "'epoch'", 2, "run", "chain.toml", "--set", "schedule.epoch=3")
refused("other parameters on a rank", "SHA-256 of the pipeline: ", 2, "run", "chain.toml", *lanes(4),
        "--set", "stage.adam.rate=0.00$((RANK+1))")
# Another run's weights, of which none is trained, on rank 1.
judge.run("chain.toml", "seed-7", "--threads", "1", "--set", "pipeline.seed=7")
launched.copy_for_rank_1("other", "chain.toml")
shutil.copytree(judge.folder / "chain-one", judge.folder / "other/chain-one")
shutil.copy(judge.folder / "seed-7/checkpoints/epoch-2.safetensors", judge.folder / "other/chain-one/checkpoints")
frozen = ["--set", "'stage.model.weights=\"chain-one\"'", "--set", "'stage.model.freeze=[\"*\"]'"]
code, errors = end(start(2, "run", "chain.toml", "--run-dir", str(judge.folder / "frozen"), *lanes(4), *frozen, FOLDER_OF_1="other"))
judge.check(f"other frozen weights on a rank\n{errors}\n", (code, errors.count("SHA-256 of the state of stage 'model': ")), (2, 1))
(judge.folder / "export.toml").write_text(TRIPLETS.replace("[flow]", "[stage.embeddings]\nuse = \"export.embeddings\"\n[flow]").replace(
    "-> search -> recall", "-> {search -> recall, embeddings}"))
refused("an export to a folder of all ranks", "all ranks would do so at once", 2, "run", "export.toml", *lanes(2),
        "--set", "'stage.embeddings.folder=\"../exported\"'")
refused("a rank without its file", "rank 1 failed: chain1.toml: error: ", 2, "run", "chain${RANK#0}.toml", *lanes(2))
judge.check("no run folder is left of a rejected run", list(judge.folder.glob("runs/*")), [])
ran = judge.call("run", "chain.toml", OMPI_COMM_WORLD_SIZE="2", **{name: launched.variables[name] for name in launched.variables if name.startswith("OMPI")})
judge.check("a process without its others", (ran.returncode, "OMPI_COMM_WORLD_SIZE" in ran.stderr), (2, True))
ran = judge.call("run", "--resume", "chain-one", "--shard", "0/2", OMPI_COMM_WORLD_SIZE="2")
judge.holds("MPI" not in ran.stderr, f"a shard is not a rank\n{ran.stderr}")

judge.end()
