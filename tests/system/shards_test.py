"""One embedding job in shards: shards_test.py SEAM PLUGINS.

The pictures are those of SEAM_TEST_DATA, else a drawn wardrobe, and one that is damaged. They are cropped at random, and their
embeddings depend on the batch. 1, 3 and 8 shards, put together by the column `number`, must have the bytes of one process's
files, also after kills.
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from judge import Judge, embeddings

PIPELINE = """
[pipeline]
name = "job"
[stage.pictures]
use = "dataset.folder"
root = "pictures"
items = "picture"
[stage.decode]
use = "image.decode"
on_error = "skip"
[stage.augment]
use = "image.augment"
[stage.resize]
use = "image.resize"
height = 64
width = 64
[stage.batch]
use = "batch"
size = 16
[stage.centre]
use = "test.centre"
[stage.model]
use = "model.cnn_embedding"
width = 8
channels = 64
[stage.embeddings]
use = "export.embeddings"
[flow]
embed = "pictures -> decode -> augment -> resize -> batch -> centre -> model -> embeddings"
[schedule]
epochs = 1
"""
EMBEDDED = """
[stage.embedded]
use = "retrieval.embedded"
folder = "of3"
size = 7
"""
SEARCH = """
[stage.index]
use = "retrieval.index"
[stage.search]
use = "retrieval.search"
index = "index"
k = 3
[stage.nearest]
use = "export.neighbours"
index = "index"
k = 3
[schedule]
epochs = 1
each_epoch = ["gallery", "queries"]
[flow]
"""
PICTURES = 110  # in 7 batches; the last one has 14

judge = Judge()
folder = judge.folder
os.environ["SEAM_PLUGIN_PATH"] = sys.argv[2]


def draw_pictures():
    """Fills the folder `pictures`."""
    real = pathlib.Path(os.environ.get("SEAM_TEST_DATA", "none")) / "deepfashion-inshop/img"
    if not real.is_dir():
        judge.draw_wardrobe()
        real = folder / "wardrobe/img"
    files = sorted(path for path in real.rglob("*") if path.suffix in (".jpg", ".ppm", ".png"))
    (folder / "pictures").mkdir()
    for number, path in enumerate(files[::max(1, len(files) // PICTURES)][:PICTURES]):
        shutil.copy(path, folder / f"pictures/{number:03}{path.suffix}")
    return len(list((folder / "pictures").iterdir()))


def start(out, number, file="resolved.toml"):
    """One of three shards, once its folder contains the file or it has ended."""
    job = subprocess.Popen([judge.seam, "run", "job.toml", "--run-dir", out, "--shard", f"{number}/3"], cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (part(out, number, 3) / file).exists() and job.poll() is None:
        pass
    return job


def run_shards(out, count, *options):
    for number in range(count):
        judge.run("job.toml", out, "--shard", f"{number}/{count}", *options)


def together(out):
    """The table and the vectors of all parts, by number."""
    rows = [row for part in sorted((folder / out).glob("part-*")) for row in embeddings(part)]
    rows.sort(key=lambda row: int(row[0]["number"]))
    return [row | {"row": str(i)} for i, (row, _) in enumerate(rows)], b"".join(vector for _, vector in rows)


def part(out, number, count):
    return folder / out / f"part-{number:05}-of-{count:05}"


def bytes_of(folder):
    return [(folder / name).read_bytes() for name in ("embeddings.npy", "embeddings.csv")]


def listed(out, code):
    ran = judge.call("shards", out, "--json")
    judge.check(f"exit code of seam shards {out}", ran.returncode, code)
    shards = json.loads(ran.stdout)
    judge.check(f"{out} is complete", shards["complete"], code == 0)
    return {(one["shard"], one["state"]) for one in shards["shards"] if one["state"] != "complete"}


count = draw_pictures()
(folder / "job.toml").write_text(PIPELINE)

# Without a damaged picture, shards have the bytes of a run without --shard.
judge.run("job.toml", "whole")
whole = embeddings(folder / "whole")
judge.check("embeddings", len(whole), count)
for shards in (1, 3, 8):  # 8 are more than batches
    run_shards(f"of{shards}", shards)
    judge.check(f"{shards} shards", together(f"of{shards}"),
                ([row for row, _ in whole], b"".join(vector for _, vector in whole)))
    judge.check(f"{shards} shards are listed", listed(f"of{shards}", 0), set())
judge.run("job.toml", "other_batches", "--set", "stage.batch.size=2")
judge.holds(bytes_of(folder / "other_batches")[0] != bytes_of(folder / "whole")[0], "embeddings depend on the batch")

# The parts are one set for `retrieval.embedded`: its file and its neighbours are those of one process.
(folder / "united.toml").write_text(EMBEDDED + '[stage.embeddings]\nuse = "export.embeddings"\n'
                                    '[flow]\nmain = "embedded -> embeddings"\n[schedule]\nepochs = 1\n')
for parts in ("of1", "of3", "whole"):
    judge.run("united.toml", f"united_{parts}", "--set", f"stage.embedded.folder={parts}")
    judge.check(f"{parts} as one file", bytes_of(folder / f"united_{parts}"), bytes_of(folder / "whole"))
gallery = "pictures -> decode -> augment -> resize -> batch -> centre -> model"
for name, flow in (("searched", "embedded"), ("computed", gallery)):
    search = PIPELINE.split("[stage.embeddings]", maxsplit=1)[0] + EMBEDDED + SEARCH
    (folder / f"{name}.toml").write_text(search + f'gallery = "{flow} -> index"\n'
                                         f'queries = "{gallery} -> search -> nearest"\n')
    judge.run(f"{name}.toml", name)
judge.check("neighbours", (folder / "searched/nearest.csv").read_bytes(), (folder / "computed/nearest.csv").read_bytes())

# Recall is not computed for queries that may be in the gallery, which does not know the files of its images.
search = (folder / "searched.toml").read_text().replace('"export.neighbours"\nindex = "index"\nk = 3', '"retrieval.recall"\nk = 1')
(folder / "recall.toml").write_text(search)
for out, root, reason in (("same_list", "pictures", "is in the gallery and finds itself"),
                          ("other_list", folder / "pictures", "is unknown, because the gallery does not have the file of")):
    judge.refused(f"recall of {root}", reason, "run", "recall.toml", "--run-dir", out, "--set", f"stage.pictures.root={root}")

# Parts in float16 are one set as well.
for number in range(2):
    judge.run("job.toml", "halves", "--shard", f"{number}/2", "--set", "stage.embeddings.precision=float16")
judge.run("united.toml", "united_halves", "--set", "stage.embedded.folder=halves", "--set", "stage.embeddings.precision=float16")
judge.run("job.toml", "whole_halves", "--set", "stage.embeddings.precision=float16")
judge.check("float16 as one file", bytes_of(folder / "united_halves"), bytes_of(folder / "whole_halves"))

# With a damaged picture, any number of shards has the same bytes.
damaged = sorted((folder / "pictures").iterdir())[17]
picture = damaged.read_bytes()
damaged.write_bytes(picture[:100])
for shards in (1, 3, 8):
    run_shards(f"damaged{shards}", shards)
    judge.check(f"{shards} shards with a damaged picture", together(f"damaged{shards}"), together("damaged1"))
ran = judge.call("shards", "damaged3")
judge.holds(f"3 of 3 shards are complete: {count} packets, 1 of them dropped or skipped" in ran.stdout, ran.stdout)
judge.check("rows", len(together("damaged3")[0]), count - 1)
damaged.write_bytes(picture)

# A shard that is killed and run again has the same bytes.
for file in ("lock", "resolved.toml", "embeddings.npy.part", "embeddings.csv", "embeddings.npy", "summary.json"):
    job = start("killed", 1, file)
    job.kill()
    job.communicate()
    judge.run("job.toml", "killed", "--shard", "1/3")
    judge.check(f"killed when {file} existed", bytes_of(part("killed", 1, 3)), bytes_of(part("of3", 1, 3)))
    shutil.rmtree(folder / "killed")

# A run that is killed is continued as the same shard.
job = start("resumed", 1)
job.kill()
job.communicate()
judge.succeed("run", "--resume", part("resumed", 1, 3))
judge.check("resumed by folder", bytes_of(part("resumed", 1, 3)), bytes_of(part("of3", 1, 3)))

# By folder, a complete shard is passed over, and other numerics or plugins are refused.
ran = judge.succeed("run", "--resume", part("resumed", 1, 3))
judge.holds("shard 1/3 is complete" in ran.stderr, ran.stderr)
judge.refused("another precision", "cpu in bfloat16 (was ", "run", "--resume", part("resumed", 1, 3), "--precision",
              "bfloat16")
(part("resumed", 1, 3) / "summary.json").unlink()
head = part("resumed", 1, 3) / "resolved.toml"
head.write_text(re.sub('sha256 = "[0-9a-f]{8}', 'sha256 = "00000000', head.read_text()))
judge.refused("other plugins", "was made differently: the plugins", "run", "--resume", part("resumed", 1, 3))

# Two workers with the same shard: the second is refused while the first runs, and passes over the shard afterwards.
job = start("two", 2)
job.send_signal(signal.SIGSTOP)
judge.refused("a shard that runs", f"{job.pid}", "run", "job.toml", "--run-dir", "two", "--shard", "2/3")
judge.check("while it runs", listed("two", 3), {("0/3", "missing"), ("1/3", "missing"), ("2/3", "running")})
job.send_signal(signal.SIGCONT)
job.communicate()
judge.check("exit code of the first worker", job.returncode, 0)
before = (part("two", 2, 3) / "summary.json").read_bytes()
ran = judge.succeed("run", "job.toml", "--run-dir", "two", "--shard", "2/3")
judge.holds("shard 2/3 is complete" in ran.stderr, ran.stderr)
judge.check("a complete shard is not run again", (part("two", 2, 3) / "summary.json").read_bytes(), before)

# Missing, doubled and damaged parts, and parts with a different pipeline.
shutil.copytree(folder / "of3", folder / "broken")
shutil.rmtree(part("broken", 0, 3))
shutil.copytree(part("broken", 1, 3), folder / "broken/part-00001-of-00003-copy")
vectors = part("broken", 2, 3) / "embeddings.npy"
content = bytearray(vectors.read_bytes())
content[-1] ^= 1
vectors.write_bytes(content)
judge.check("broken parts", listed("broken", 3), {("0/3", "missing"), ("1/3", "doubled"), ("2/3", "damaged")})
judge.refused("broken parts", "1 of 3 shards are complete", "shards", "broken", code=3)
judge.refused("a damaged part", "'embeddings.npy' has changed", "run", "job.toml", "--run-dir", "broken", "--shard", "2/3",
              code=3)
judge.refused("another pipeline", "pipeline.seed = 9", "run", "job.toml", "--run-dir", "of3", "--shard", "0/3", "--set",
              "pipeline.seed=9")
judge.refused("another pipeline for a missing part", "stage.batch.size = 4 (was 16)", "run", "job.toml", "--run-dir",
              "broken", "--shard", "0/3", "--set", "stage.batch.size=4")
judge.refused("another number of shards", "4 shards (were 3)", "run", "job.toml", "--run-dir", "of3", "--shard", "0/4")
judge.refused("a run", "contains a run", "run", "job.toml", "--run-dir", "whole", "--shard", "0/4")
judge.run("job.toml", "other", "--shard", "0/3", "--set", "pipeline.seed=9")
shutil.copytree(part("other", 0, 3), part("broken", 0, 3))
judge.check("a part with a different pipeline", listed("broken", 3),
            {("0/3", "different"), ("0/3", "missing"), ("1/3", "doubled"), ("2/3", "damaged")})
shutil.copytree(folder / "of3", folder / "longer")
shutil.rmtree(part("longer", 0, 3))
(folder / f"pictures/000a{damaged.suffix}").write_bytes(picture)
judge.refused("a picture was added", "was made differently: the list of stage 'pictures'", "run", "job.toml", "--run-dir",
              "longer", "--shard", "0/3")
shutil.rmtree(part("longer", 0, 3))
judge.run("job.toml", "added", "--shard", "0/3")  # beside other shards that have not ended, it would not be noticed yet
shutil.copytree(part("added", 0, 3), part("longer", 0, 3))
(folder / f"pictures/000a{damaged.suffix}").unlink()
judge.check("a picture was added", listed("longer", 3), {("0/3", "different"), ("0/3", "missing")})
shutil.copytree(folder / "of3", folder / "emptied")
summary = part("emptied", 1, 3) / "summary.json"
summary.write_text(re.sub(',"listing":"[0-9a-f]*"', "", summary.read_text()))
judge.check("a shard that found no pictures", listed("emptied", 3), {("1/3", "different"), ("1/3", "missing")})
judge.refused("no shards", "contains no shards", "shards", "pictures")

# Weights with different content under the same name.
def copy_weights(run):
    shutil.copy(next((folder / run / "checkpoints").glob("*.safetensors")), folder / "weights.safetensors")


weights = ("--set", "stage.model.weights=weights.safetensors")
copy_weights("whole")
judge.run("job.toml", "weighted", "--shard", "0/2", *weights)
judge.run("job.toml", "seed9", "--set", "pipeline.seed=9")
copy_weights("seed9")
for shard in ("0/2", "1/2"):
    judge.refused("other weights", "the content of stage.model.weights", "run", "job.toml", "--run-dir", "weighted", "--shard",
                  shard, *weights)

# What needs all pictures is refused before the run.
(folder / "gallery.toml").write_text(PIPELINE.replace('"export.embeddings"', '"retrieval.index"'))
judge.refused("a gallery", "'embeddings' (retrieval.index) needs all packets", "run", "gallery.toml", "--run-dir", "gallery",
              "--shard", "0/2")
judge.refused("an absolute folder", "which all shards would share", "run", "job.toml", "--run-dir", "absolute", "--shard", "0/2",
              "--set", f"stage.embeddings.folder={folder}")
judge.refused("a folder beside the run", "which all shards would share", "run", "job.toml", "--run-dir", "absolute", "--shard",
              "0/2", "--set", "stage.embeddings.folder=../vectors")
(folder / "skips.toml").write_text(PIPELINE.replace('size = 16', 'size = 16\non_error = "skip"'))
judge.refused("a batch that skips", "'batch' (batch) has on_error", "run", "skips.toml", "--run-dir", "skips", "--shard", "0/2")
judge.holds(not any((folder / name).exists() for name in ("gallery", "absolute", "skips")), "a refused run left a folder")
for wrong in ("3/3", "1", "a/b", "-1/2", "1/"):
    judge.refused("a shard", "NUMBER/COUNT", "run", "job.toml", "--run-dir", "wrong", "--shard", wrong)

# The shard in the environment counts only with --shard auto.
slurm = {"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_MAX": "12", "SLURM_ARRAY_TASK_COUNT": "3"}
judge.run("job.toml", "slurm", "--shard", "auto", **slurm)
judge.check("a Slurm array", bytes_of(part("slurm", 2, 3)), bytes_of(part("of3", 2, 3)))
judge.run("job.toml", "kubernetes", "--shard", "auto", JOB_COMPLETION_INDEX="0", JOB_COMPLETIONS="3")
judge.check("a Kubernetes Job", bytes_of(part("kubernetes", 0, 3)), bytes_of(part("of3", 0, 3)))
judge.run("job.toml", "not_asked", **slurm)
judge.check("without --shard", bytes_of(folder / "not_asked"), bytes_of(folder / "whole"))
for variables in ({}, slurm | {"SLURM_ARRAY_TASK_COUNT": "2"}, slurm | {"JOB_COMPLETION_INDEX": "0"},
                  {"JOB_COMPLETION_INDEX": "0"}):
    ran = judge.call("run", "job.toml", "--run-dir", "wrong", "--shard", "auto", **variables)
    judge.holds(ran.returncode == 2 and "--shard NUMBER/COUNT" in ran.stderr, f"{variables}: {ran.stderr}")

# Several shards at a time, by the command in docs/scale.md.
text = (pathlib.Path(__file__).parents[2] / "docs/scale.md").read_text()
command = re.search(r"`(seq 0 99 [^`]*)`", text)[1].replace("\\|", "|").replace("99", "2").replace("100", "3")
command = command.replace("OUT", "xargs").replace("FILE", "job.toml").replace("--threads 8", "--threads 1")
ran = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
                     env=os.environ | {"PATH": f"{judge.seam.parent}:{os.environ['PATH']}"})
judge.check(f"{command}: exit code", ran.returncode, 0)
judge.check("shards of xargs", together("xargs"), together("of3"))

# The combinations of a sweep.
sweep = ("sweep", "job.toml", "--over", "stage.batch.size=3,4,5", "--sweep-dir", "swept")
names = judge.succeed(*sweep, "--dry-run").stdout.split()
shared = [judge.succeed(*sweep, "--shard", f"{number}/4", "--dry-run").stdout.split() for number in range(4)]
judge.check("combinations of the shards", shared, [names[0:1], names[1:2], names[2:3], []])
judge.succeed(*sweep, "--shard", "1/2")
again = judge.succeed(*sweep, "--shard", "1/2")
judge.holds("1 of 1 runs are complete" in again.stderr, again.stderr)
judge.check("its runs", sorted(path.name for path in (folder / "swept/part-00001-of-00002").glob("*=*")), names[1:2])
for why, options in (("the axes", ("--over", "stage.batch.size=3,4,6")), ("the number of shards", ("--shard", "0/3")),
                     ("--set", ("--set", "pipeline.seed=3")), ("--random", ("--random", "2"))):
    settings = dict(zip(sweep[2::2], sweep[3::2])) | {"--shard": "0/2"} | {options[0]: options[1]}
    judge.refused(why, f"part-00001-of-00002' was planned differently: {why}", *sweep[:2], *itertools.chain(*settings.items()))
(folder / "job.toml").write_text(PIPELINE.replace("width = 8", "width = 16"))
judge.refused("an edited file", "was planned differently: the contents of the pipeline file", *sweep, "--shard", "0/2")
(folder / "job.toml").write_text(PIPELINE)
judge.succeed(*sweep, "--shard", "0/2")
judge.refused("another sweep", "was planned differently: --set", *sweep, "--shard", "0/2", "--set", "pipeline.seed=3")
shutil.rmtree(folder / "swept/part-00000-of-00002")
judge.refused("another sweep", "has other runs or pipelines", *sweep, "--shard", "1/2", "--set", "pipeline.seed=3")

print(f"{count} pictures, embeddings of {len(whole[0][1])} bytes")
judge.end()
