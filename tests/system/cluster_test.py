"""The files in examples/cluster, as written: cluster_test.py SEAM SOURCE.

Stand-ins for sbatch, srun, scontrol, the kubelet and Spark start them. All shards must be complete in the end and have the bytes of
one process.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from judge import WARDROBE, Judge, embeddings, metrics
from lane_pipelines import LONG

try:
    import yaml
except ImportError:
    yaml = None

JOB = WARDROBE + """
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
size = 4
[stage.pixels]
use = "baseline.pixels"
[stage.embeddings]
use = "export.embeddings"
[flow]
main = "items -> decode -> batch -> pixels -> embeddings"
[schedule]
epochs = 1
"""
SPARK = '''
import os
class SparkSession:
    class builder:
        @staticmethod
        def appName(name):
            return SparkSession.builder
        @staticmethod
        def getOrCreate():
            return SparkSession()
    @property
    def sparkContext(self):
        return self
    def parallelize(self, values, slices):
        assert len(values) == slices
        return Values(values)
    def stop(self):
        pass
class Values(list):
    def map(self, function):
        return Values(function(one) for one in self)
    def collect(self):
        return list(self)
'''

judge = Judge()
folder = judge.folder
examples = pathlib.Path(sys.argv[2]).resolve() / "examples/cluster"
(folder / "job.toml").write_text(JOB)
tools = folder / "tools"
tools.mkdir()


def tool(name, text):
    (tools / name).write_text(f"#!/bin/sh\n{text}\n")
    (tools / name).chmod(0o755)


tool("srun", 'shift; exec "$@"')  # the first argument is an option
tool("scontrol", 'echo "$@" >> scontrol.log')
ENVIRONMENT = os.environ | {"PATH": f"{tools}:{judge.seam.parent}:{os.environ['PATH']}", "FILE": "job.toml"}


def vectors(out):
    """The rows of all parts in the order of one process: their numbers and vectors."""
    parts = [folder / out] if (folder / out / "embeddings.csv").exists() else (folder / out).glob("part-*")
    return sorted((int(row["number"]), vector) for part in parts for row, vector in embeddings(part))


def complete(out, count):
    listed = json.loads(judge.succeed("shards", out, "--json").stdout)
    judge.check(f"{out} is complete", listed["complete"])
    judge.check(f"shards in {out}", len(listed["shards"]), count)
    judge.check(f"vectors in {out}", vectors(out) == whole)


judge.run("job.toml", "whole")
whole = vectors("whole")
judge.check("images", len(whole), 56)

# Slurm.
script = (examples / "embed.sbatch").read_text()
first, last = map(int, re.search(r"^#SBATCH --array=(\d+)-(\d+)$", script, re.MULTILINE).groups())


def array_task(number, **variables):
    slurm = {"SLURM_ARRAY_TASK_ID": f"{number}", "SLURM_ARRAY_TASK_MIN": f"{first}", "SLURM_ARRAY_TASK_MAX": f"{last}",
             "SLURM_ARRAY_TASK_COUNT": f"{last - first + 1}", "SLURM_ARRAY_JOB_ID": "700", "SLURM_CPUS_PER_TASK": "1",
             "OUT": "slurm", "SLURM_MEM_PER_NODE": "4096"}
    return subprocess.Popen(["bash", examples / "embed.sbatch"], cwd=folder, env=ENVIRONMENT | slurm | variables,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


for task in range(first, last + 1):
    job = array_task(task)
    judge.check(f"task {task}: {job.communicate()}", job.returncode, 0)
complete("slurm", last - first + 1)
judge.check("no task was requeued", (folder / "scontrol.log").exists(), False)

# A stopped task is requeued; schedulers_test.py shows that the signal gives this code.
judge.holds("#SBATCH --signal=USR1@90" in script and "--stopped-code 99" in script, script)
tool("srun", "exit 99")
job = array_task(3)
job.communicate()
judge.check("exit code of a stopped task", job.returncode, 99)
judge.check("scontrol", (folder / "scontrol.log").read_text(), "requeue 700_3\n")

# Kubernetes.
if yaml:
    spec = yaml.safe_load((examples / "embed-job.yaml").read_text())["spec"]
    container = spec["template"]["spec"]["containers"][0]
    variables = {one["name"]: one["value"] for one in container["env"]}
    judge.check("completions", variables["JOB_COMPLETIONS"], str(spec["completions"]))
    arguments = [{"/job/embedded": "kubernetes"}.get(one, one) for one in container["args"]]
    judge.check("the pipeline file", arguments[1].startswith("/opt/seam/share/seam/pipelines/"))
    arguments[1] = "job.toml"
    for index in range(spec["completions"]):
        judge.succeed(*arguments, **variables, JOB_COMPLETION_INDEX=str(index))
    complete("kubernetes", spec["completions"])
    rules = {rule["action"]: rule["onExitCodes"]["values"] for rule in spec["podFailurePolicy"]["rules"] if "onExitCodes" in rule}
    judge.check("exit codes that are not tried again", rules["FailIndex"], [3, 5, 6])

# Spark.
(tools / "pyspark").mkdir()
(tools / "pyspark/__init__.py").touch()
(tools / "pyspark/sql.py").write_text(SPARK)


def spark(file, out):
    return subprocess.run([sys.executable, examples / "embed_spark.py", file, out, "3"], cwd=folder, capture_output=True, text=True,
                          check=False, env=ENVIRONMENT | {"PYTHONPATH": str(tools)})


ran = spark("job.toml", "spark")
judge.check(f"Spark: {ran.stderr}", ran.returncode, 0)
complete("spark", 3)
ran = spark("missing.toml", "spark")
judge.holds(ran.returncode == 1 and "shard 2: exit code 2: " in ran.stderr, ran.stderr)

# A mirror of a run folder. The copied run continues from its checkpoint.
(folder / "long.toml").write_text(LONG)
copying = 'mkdir -p mirror && cp -rT "$1" "mirror/$2"'


def mirrored(out, copy=copying, **options):
    return subprocess.Popen([examples / "mirrored", out, judge.seam, "run", "long.toml", "--threads", "1", "--run-dir", out], cwd=folder,
                            env=ENVIRONMENT | {"COPY": copy, "EVERY": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def files(run):
    return {str(path.relative_to(folder / run)): path.read_bytes() for path in (folder / run).rglob("*") if path.is_file()}


job = mirrored("long-run")
judge.check(f"a mirrored run: {job.communicate()[1]}", job.returncode, 0)
expected = files("long-run")
expected.pop("lock", None)
judge.holds(expected.items() <= files("mirror").items(), "the mirror differs from the run folder")  # checkpoints stay there
for sent, code in ((signal.SIGKILL, 137), (signal.SIGTERM, 4)):
    shutil.rmtree(folder / "mirror")
    job = mirrored(f"ended-{code}")
    while job.poll() is None and not list(folder.glob(f"ended-{code}/checkpoints/*-step-*")):
        time.sleep(0.01)
    child = int(pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()[0])
    os.kill(child if sent == signal.SIGKILL else job.pid, sent)
    judge.check(f"signal {sent}: {job.communicate()[1]}", job.returncode, code)
    shutil.copytree(folder / "mirror", folder / f"other-{code}")
    judge.succeed("run", "--resume", f"other-{code}")
    judge.check(f"signal {sent}, continued from the mirror", metrics(folder / f"other-{code}") == metrics(folder / "long-run"))
job = subprocess.Popen([examples / "mirrored", "shards", judge.seam, "run", "job.toml", "--run-dir", "shards", "--shard", "0/1"], cwd=folder,
                       env=ENVIRONMENT | {"COPY": copying.replace("mirror/", "mirror/shards-")}, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True)
judge.check(f"a run without checkpoints: {job.communicate()[1]}", job.returncode, 0)
judge.holds(any(folder.glob("mirror/shards-part-*/embeddings.npy")), "the shard is not in the mirror")
job = mirrored("lost", "exit 1")
errors = job.communicate()[1]
judge.check(f"a mirror that fails: {errors}", (job.returncode, "mirrored: some files in 'lost' were not copied" in errors), (3, True))

# Metrics for Prometheus, of a whole run and of one under way.
ran = subprocess.run([examples / "run_metrics.py", folder / "long-run"], capture_output=True, text=True, check=False)
judge.check(f"run_metrics.py: {ran.stderr}", ran.returncode, 0)
newest = [line for line in map(json.loads, metrics(folder / "long-run").decode().splitlines()) if line["name"] == "loss"][-1]
judge.holds(f'seam_metric{{run="long-run",flow="{newest["flow"]}",stage="{newest["stage"]}",name="loss"}} {newest["value"]}\n' in ran.stdout, ran.stdout)
judge.holds('seam_epoch{run="long-run",flow="train"} 1\n' in ran.stdout and 'seam_complete{run="long-run"} 1\n' in ran.stdout, ran.stdout)
text = re.compile(r'(# TYPE \w+ gauge|seam_\w+\{(\w+="[^"]*",?)+\} -?[0-9.e+-]+)')
judge.check("lines of Prometheus' format", [line for line in ran.stdout.splitlines() if not text.fullmatch(line)], [])

# The images are made from the tarball of this version.
version = re.search(r"project\(Seam VERSION ([0-9.]+)", (examples.parents[1] / "CMakeLists.txt").read_text())[1]
for name, text in (("Containerfile", f"seam-{version}-linux-x86_64"), ("seam.def", f"seam-{version}-linux-x86_64.tar.gz"),
                   ("embed-job.yaml", f"image: seam:{version}")):
    judge.holds(text in (examples / name).read_text(), f"{name} lacks '{text}'")

print(f"{last - first + 1} shards of Slurm, 3 of Spark" + ("" if yaml else "; Kubernetes is not tested without PyYAML"))
judge.end()
