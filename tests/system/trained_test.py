"""A trained run is used on a folder of pictures: trained_test.py SEAM SOURCE_TREE.

The embeddings of pipelines/embed.toml from the run's checkpoint must be equal to those that the run itself computed for the
same images after training, and pipelines/search.toml must find each image at distance 0 from itself, by the metric of the
run's gallery. Both prepare images with the run's own path `prepare`, here with a crop, and reject a run without one.
"""

import array
import pathlib
import shutil
import sys

from judge import NETWORK, WARDROBE, Judge, embeddings

TRAINING = WARDROBE + NETWORK + """
[pipeline]
name = "training"
[stage.triplets]
use = "sampling.triplets"
per_epoch = 12
[stage.decode]
use = "image.decode"
colour = "grey"
[stage.resize]
use = "image.resize"
height = 36
width = 36
[stage.triplet_batch]
use = "batch"
size = 6
[stage.batch]
use = "batch"
size = 7
[stage.loss]
use = "loss.triplet"
[stage.adam]
use = "train.adam"
[stage.vectors]
use = "export.embeddings"
[stage.gallery]
use = "retrieval.index"
metric = "cosine"
[stage.crop]
use = "image.crop"
height = 32
width = 32
[path]
prepare = "decode -> resize -> crop -> batch"
[flow]
train = "items -> triplets -> decode -> resize -> crop -> triplet_batch -> model -> loss -> adam"
vectors = "items -> prepare -> model -> vectors"
[schedule]
epochs = 1
each_epoch = ["train"]
after = ["vectors"]
stop_early = { metric = "loss.loss", patience = 2, goal = "lowest" }
"""

tree = pathlib.Path(sys.argv[2]).resolve()
judge = Judge()
folder = judge.folder


def flat_name(path):
    """A unique name for an image of the wardrobe, whose folders contain files with equal names."""
    return "_".join(pathlib.Path(path).parts[-3:])


def vectors_by_name(folder, name, name_of):
    """Each image's vector, by the name made from its path."""
    rows = embeddings(folder, name)
    vectors = {name_of(row["path"]): array.array("f", vector) for row, vector in rows}
    if len(vectors) != len(rows):
        sys.exit(f"{folder}: image names are not unique")
    return vectors


(folder / "training.toml").write_text(TRAINING)
judge.run("training.toml", "trained")
expected = vectors_by_name(folder / "trained", "vectors", flat_name)
pictures = folder / "pictures"
pictures.mkdir()
for file in (folder / "wardrobe").rglob("*"):
    if flat_name(file) in expected:
        shutil.copy(file, pictures / flat_name(file))
if len(list(pictures.iterdir())) != len(expected):
    sys.exit(f"{len(expected)} images have vectors, but there are {len(list(pictures.iterdir()))}")

variables = {"TRAINED": str(folder / "trained"), "PICTURES": "pictures", "QUERIES": "pictures"}
for file in ("embed", "search"):
    judge.run(tree / f"pipelines/{file}.toml", file, **variables)
    found = vectors_by_name(folder / file, "embeddings", lambda path: pathlib.Path(path).name)
    if found.keys() != expected.keys():
        judge.failures.append(f"{file}.toml: other pictures")
        continue
    # A batch of different images may be summed in a different order.
    far = max(abs(a - b) for key in expected for a, b in zip(expected[key], found[key], strict=True))
    judge.holds(far <= 1e-5, f"{file}.toml: the vectors differ from those of the run by up to {far}")
resolved = folder / "trained/resolved.toml"
path = '[path]\nprepare = "decode -> resize -> crop -> batch"\n'
if path not in resolved.read_text():
    sys.exit(f"no {path} in\n{resolved.read_text()}")
resolved.write_text(resolved.read_text().replace(path, ""))
embed = tree / "pipelines/embed.toml"
judge.refused("a run without the path", "no stage or path 'prepare'", "run", embed, "--run-dir", "pathless", **variables)
judge.run(embed, "given", "--set", "path.prepare=decode -> resize -> crop -> batch", **variables)
judge.holds((folder / "given/embeddings.npy").read_bytes() == (folder / "embed/embeddings.npy").read_bytes(),
            "with the path given on the command line, the vectors are others")
lines = judge.rows("search/neighbours.csv")
first = [line for line in lines if line["rank"] == "1"]
judge.holds(len(lines) == 5 * len(expected) and all(float(line["distance"]) < 1e-4 for line in first),
            f"{len(lines)} neighbours, the first at distances {[line['distance'] for line in first]}")
judge.check("the metrics of the search", {line["metric"] for line in lines}, {"cosine"})

print(f"{len(expected)} pictures")
judge.end()
