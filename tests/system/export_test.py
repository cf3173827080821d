"""NumPy validates the files of the export stages: export_test.py SEAM."""

import csv
import sys

from judge import NETWORK, WARDROBE, Judge

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PIPELINE = WARDROBE + NETWORK + """
[pipeline]
name = "judged"
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
size = 5
[stage.gallery]
use = "retrieval.index"
[stage.search]
use = "retrieval.search"
index = "gallery"
k = 4
[stage.vectors]
use = "export.embeddings"
[stage.halves]
use = "export.embeddings"
precision = "float16"
[stage.nearest]
use = "export.neighbours"
index = "gallery"
k = 4
[flow]
gallery = "items -> decode -> batch -> model -> {gallery, vectors, halves}"
queries = "items -> decode -> batch -> model -> search -> nearest"
[schedule]
epochs = 1
each_epoch = ["gallery", "queries"]
"""

judge = Judge()
folder = judge.folder
(folder / "judged.toml").write_text(PIPELINE)
judge.run("judged.toml", "out")
vectors = numpy.load(folder / "out/vectors.npy")
with open(folder / "out/vectors.csv", newline="") as file:
    rows = list(csv.DictReader(file))
with open(folder / "out/nearest.csv", newline="") as file:
    found = list(csv.DictReader(file))
pictures = {str(path.relative_to(folder / "wardrobe")) for path in (folder / "wardrobe").rglob("*.*")}

if vectors.dtype != numpy.float32 or len(vectors) != len(rows) or not numpy.isfinite(vectors).all():
    judge.failures.append(f"{vectors.dtype}{list(vectors.shape)} for {len(rows)} lines")
halves = numpy.load(folder / "out/halves.npy")
if halves.dtype != numpy.float16 or (halves != vectors.astype(numpy.float16)).any():
    judge.failures.append(f"{halves.dtype} is not the rounded {vectors.dtype}")
if [row["row"] for row in rows] != [str(i) for i in range(len(rows))]:
    judge.failures.append("rows are not numbered from 0")
if len({row["path"] for row in rows}) != len(rows) or not {row["path"] for row in rows} & pictures:
    judge.failures.append(f"paths such as {rows[0]['path']} are not those of the pictures")

# Queries and gallery are the same list, so that every line can be recomputed from the vectors.
row_of = {row["path"]: i for i, row in enumerate(rows)}
wide = vectors.astype(numpy.float64)
if len(found) != 4 * len(rows):
    judge.failures.append(f"{len(found)} lines for {len(rows)} queries")
for line in found:
    query, picture = row_of[line["query"]], row_of[line["picture"]]
    distances = ((wide - wide[query]) ** 2).sum(axis=1)
    if abs(float(line["distance"]) - distances[picture]) > 1e-4:
        judge.failures.append(f"{line} is at distance {distances[picture]}")
    if abs(numpy.sort(distances)[int(line["rank"]) - 1] - distances[picture]) > 1e-4:
        judge.failures.append(f"{line} has another rank")
    if rows[picture]["item"] != line["item"] or rows[query]["item"] != line["query_item"]:
        judge.failures.append(f"{line} names other items")

print(f"{len(rows)} embeddings of {vectors.shape[1]} elements, {len(found)} neighbours")
judge.end()
