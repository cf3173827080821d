"""TensorBoard's own reader validates a run's event files: tensorboard_test.py SEAM SOURCE."""

import json
import math
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys

try:
    import numpy
    from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
except ImportError as missing:
    # scripts/setup --tensorboard installs it there
    python = pathlib.Path(sys.argv[2]).resolve() / "build" / "peers-venv" / "bin" / "python"
    if "SEAM_IN_VENV" not in os.environ and python.exists():
        os.environ["SEAM_IN_VENV"] = "1"
        os.execv(python, [str(python), *sys.argv])
    print(f"skipped: {missing}; scripts/setup --tensorboard installs it")
    sys.exit(77)

from judge import Judge
from report_runs import PIPELINE

EPOCHS = 4
TEXT = PIPELINE.replace("epochs = 2", f"epochs = {EPOCHS}\ncheckpoint_every = {{ epochs = 1, steps = 2 }}").replace(
    'seed = 3', 'seed = 3\ntensorboard = { histograms = ["model.*"] }')
STEPS = 6  # 24 triplets per epoch, 4 per batch
judge = Judge()
folder = judge.folder


def read(folder):
    """{kind: {tag: [(step, content)]}} of all event files of a run."""
    events = event_accumulator.EventAccumulator(str(folder), size_guidance={
        event_accumulator.SCALARS: 0, event_accumulator.IMAGES: 0, event_accumulator.HISTOGRAMS: 0})
    events.Reload()
    tags = events.Tags()
    # The reader of the program TensorBoard; it has its own rules for START.
    shown = plugin_event_accumulator.EventAccumulator(str(folder), tensor_size_guidance={
        "scalars": 0, "images": 0, "histograms": 0})
    shown.Reload()
    return {
        "steps": {tag: [(e.step,) for e in shown.Tensors(tag)] for tag in shown.Tags()["tensors"]},
        # repr: NaN is NaN
        "scalars": {tag: [(e.step, repr(e.value)) for e in events.Scalars(tag)] for tag in tags["scalars"]},
        "images": {tag: [(e.step, e.encoded_image_string, e.width, e.height) for e in events.Images(tag)]
                   for tag in tags["images"]},
        "histograms": {tag: [(e.step, e.histogram_value) for e in events.Histograms(tag)]
                       for tag in tags["histograms"]},
    }


def same(one, other, what):
    for kind in one:
        judge.holds(one[kind].keys() == other[kind].keys(),
                    f"{what}: {kind} differ in {sorted(one[kind].keys() ^ other[kind].keys())}")
        for tag in one[kind].keys() & other[kind].keys():
            judge.holds(one[kind][tag] == other[kind][tag], f"{what}: {kind} of {tag} differ: steps "
                        f"{[e[0] for e in one[kind][tag]]} and {[e[0] for e in other[kind][tag]]}")


def expected_scalars(folder):
    """The contents of metrics.jsonl as expected in the event file."""
    series = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        metric = json.loads(line)
        value = math.nan if metric["value"] is None else metric["value"]
        tag = f"{metric['flow']}/{metric['stage']}.{metric['name']}"
        series.setdefault((tag, metric["epoch"], metric["flow"]), []).append(value)
    scalars = {}
    for (tag, epoch, flow), values in series.items():
        points = scalars.setdefault(tag, [])
        if flow == "train" and len(values) == STEPS:
            points += [(epoch * STEPS + at + 1, value) for at, value in enumerate(values)]
        else:
            points.append(((epoch + 1) * STEPS, sum(values) / len(values)))
    return {tag: [(step, repr(float(numpy.float32(value)))) for step, value in points]
            for tag, points in scalars.items()}


def files(folder):
    return sorted(folder.glob("events.out.tfevents.*"))


(folder / "run.toml").write_text(TEXT)
judge.run("run.toml", "whole", "--threads", "1")
whole = read(folder / "whole")
judge.holds(len(files(folder / "whole")) == 1, "a run has one event file")
expected = expected_scalars(folder / "whole")
for kind in ("scalars", "images", "histograms"):
    for tag, events in whole[kind].items():
        judge.holds([e[0] for e in events] == [e[0] for e in whole["steps"][tag]], f"TensorBoard shows different steps of {tag}")
judge.holds(whole["scalars"] == expected, f"scalars are {whole['scalars']}, not {expected}")
judge.holds("train/triplet_loss.loss" in expected and "evaluate/recall.none.r@1" in expected, f"metrics are {list(expected)}")

images = whole["images"]
judge.holds([e[0] for e in images.get("train/fed/Batch 1", [])] == [STEPS], f"images are {list(images)}")
judge.holds([e[0] for e in images.get("evaluate/neighbours", [])] == [STEPS * (epoch + 1) for epoch in range(EPOCHS)]
            and not any(tag.startswith("evaluate/neighbours/") for tag in images), f"neighbours are {list(images)}")
sheet = (folder / "whole/pictures/neighbours/epoch-0000/sheet.jpg").read_bytes()
judge.holds(images["evaluate/neighbours"][0][1] == sheet, "the sheet is not the one that was drawn")
fed = (folder / "whole/pictures/fed/epoch-0000/batch-0.jpg").read_bytes()
judge.holds(images["train/fed/Batch 1"][0][1] == fed, "the picture is not the one that was drawn")
judge.holds(all(e[2] > 0 and e[3] > 0 for tag in images.values() for e in tag), "pictures without a size")

checkpoint = (folder / f"whole/checkpoints/epoch-{EPOCHS}.safetensors").read_bytes()
length = struct.unpack("<Q", checkpoint[:8])[0]
header = json.loads(checkpoint[8:8 + length])
weights = {key: value for key, value in header.items()
           if key.startswith("model/") and value["dtype"] == "F32" and math.prod(value["shape"]) > 0}
judge.holds({"weights/" + key.replace("/", ".", 1) for key in weights} == whole["histograms"].keys(),
            f"histograms are {list(whole['histograms'])}")
for key, value in weights.items():
    begin, end = (8 + length + at for at in value["data_offsets"])
    numbers = numpy.frombuffer(checkpoint[begin:end], dtype="<f4").astype(float)
    events = whole["histograms"]["weights/" + key.replace("/", ".", 1)]
    judge.holds([e[0] for e in events] == [STEPS * (epoch + 1) for epoch in range(EPOCHS)], f"steps of {key}")
    histogram = events[-1][1]
    judge.holds(histogram.num == numbers.size and histogram.min == numbers.min() and histogram.max == numbers.max()
                and math.isclose(histogram.sum, numbers.sum(), abs_tol=1e-6) and sum(histogram.bucket) == numbers.size,
                f"histogram of {key}")

judge.run("run.toml", "threads", "--threads", "3")
same(whole, read(folder / "threads"), "more threads")

# A run that lost its newest checkpoint and the end of its last record.
(folder / f"threads/checkpoints/epoch-{EPOCHS}.safetensors").unlink()
event_file = files(folder / "threads")[0]
event_file.write_bytes(event_file.read_bytes()[:-3])
judge.succeed("run", "--resume", "threads", "--threads", "2")
judge.holds(len(files(folder / "threads")) == 2, "a resumed run adds a file")
same(whole, read(folder / "threads"), "resumed between epochs")

# A run that is killed within an epoch; if it finishes before the signal, it is complete, which is fine too.
with subprocess.Popen([judge.seam, "run", "run.toml", "--run-dir", "killed", "--threads", "2"], cwd=folder,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
    within = re.compile(r"epoch-2(-flow-\d+)?-step-\d+\.safetensors$")
    while process.poll() is None:
        if any(within.search(str(path)) for path in folder.glob("killed/checkpoints/*")):
            process.send_signal(signal.SIGKILL)
            break
judge.succeed("run", "--resume", "killed", "--threads", "2")
same(whole, read(folder / "killed"), "killed within an epoch")

# The flag keeps the file's setting, and a run without both has no event file.
(folder / "plain.toml").write_text(PIPELINE.replace("epochs = 2", "epochs = 1"))
judge.run("plain.toml", "plain")
judge.holds(not files(folder / "plain"), "an event file that was not requested")
judge.run("plain.toml", "flag", "--tensorboard")
judge.holds(len(files(folder / "flag")) == 1 and "tensorboard = true" in (folder / "flag/resolved.toml").read_text(),
            "--tensorboard writes a file and is recorded")
judge.holds(not read(folder / "flag")["histograms"], "histograms that were not requested")

print(f"{len(whole['scalars'])} scalars, {len(whole['images'])} images, {len(whole['histograms'])} histograms")
judge.end()
