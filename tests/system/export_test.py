"""NumPy validates the files of the export stages: export_test.py SEAM."""

from judge import NETWORK, WARDROBE, Judge, needed

[numpy] = needed("numpy")

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
rows = judge.rows("out/vectors.csv")
found = judge.rows("out/nearest.csv")
pictures = {str(path.relative_to(folder / "wardrobe")) for path in (folder / "wardrobe").rglob("*.*")}

judge.holds(vectors.dtype == numpy.float32 and len(vectors) == len(rows) and numpy.isfinite(vectors).all(),
            f"{vectors.dtype}{list(vectors.shape)} for {len(rows)} lines")
halves = numpy.load(folder / "out/halves.npy")
judge.holds(halves.dtype == numpy.float16 and (halves == vectors.astype(numpy.float16)).all(), f"{halves.dtype} is not the rounded {vectors.dtype}")
judge.check("rows are numbered from 0", [row["row"] for row in rows], [str(i) for i in range(len(rows))])
judge.holds(len({row["path"] for row in rows}) == len(rows) and {row["path"] for row in rows} & pictures,
            f"paths such as {rows[0]['path']} are not those of the pictures")

# Queries and gallery are the same list, so that every line can be recomputed from the vectors.
row_of = {row["path"]: i for i, row in enumerate(rows)}
wide = vectors.astype(numpy.float64)
judge.check("neighbours", len(found), 4 * len(rows))
for line in found:
    query, picture = row_of[line["query"]], row_of[line["picture"]]
    distances = ((wide - wide[query]) ** 2).sum(axis=1)
    judge.holds(abs(float(line["distance"]) - distances[picture]) <= 1e-4, f"{line} is at distance {distances[picture]}")
    judge.holds(abs(numpy.sort(distances)[int(line["rank"]) - 1] - distances[picture]) <= 1e-4, f"{line} has another rank")
    judge.holds(rows[picture]["item"] == line["item"] and rows[query]["item"] == line["query_item"], f"{line} names other items")

print(f"{len(rows)} embeddings of {vectors.shape[1]} elements, {len(found)} neighbours")
judge.end()
