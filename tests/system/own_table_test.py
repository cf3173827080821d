"""The file of `seam new pipeline --table` passes the check and trains: own_table_test.py SEAM."""

from judge import Judge

judge = Judge()


def refused(what, part, table):
    (judge.folder / "bad.csv").write_text(table)
    judge.refused(what, part, "new", "pipeline", "bad", "--table", "bad.csv")
    judge.check(f"{what}: nothing is written", (judge.folder / "bad.toml").exists(), False)


folder = judge.folder
# Images of a user: drawn by the program, but only their files and items are known.
pictures = [(file.relative_to(folder), file.parent.name) for file in judge.draw_wardrobe()]
items = sorted({item for _, item in pictures})
judge.check("items", len(items) >= 20)


def split_of(item, number):
    if items.index(item) % 2 == 0:
        return "train"
    return "query" if number % 2 == 0 else "gallery"


parts = [(file, item, split_of(item, number)) for number, (file, item) in enumerate(pictures)]


def flagged(cells):
    rows = (f"{file},{item},{cells[part]}\n" for file, item, part in parts)
    return "path,label,split,is_query,is_gallery\n" + "".join(rows)


tables = {
    "plain": "file,item\n" + "".join(f"{file},{item}\n" for file, item in pictures),
    "split": "item;path;split\r\n" + "".join(f'"{item}";{file};{split_of(item, number)}\r\n'
                                             for number, (file, item) in enumerate(pictures)),
    # As people write them: blanks around cells, and flags for queries and gallery.
    "blanks": "path , item, split\n" + "".join(f"{file} , {item}, {part}\n" for file, item, part in parts),
    "flags": flagged({"train": "train,,", "query": "validation,True,False", "gallery": "validation,0,1.0"}),
    "both_flags": flagged({"train": "train,,", "query": "validation,1,1", "gallery": "validation,False,True"}),
    "leave_one_out": "path,label,split\n" + "".join(
        f"{file},{item},{'train' if items.index(item) % 2 == 0 else 'test'}\n" for file, item in pictures)}
for kind, table in tables.items():
    (folder / f"{kind}.csv").write_text(table)
    judge.succeed("new", "pipeline", kind, "--table", f"{kind}.csv")
    text = (folder / f"{kind}.toml").read_text()
    judge.check(f"{kind}: nothing is left open", "template" in text, False)
    rows = {line for line in text.splitlines() if line.startswith(("split =", "exclude_self ="))}
    if kind.endswith("flags"):
        splits = {'split = "train"', 'split = "validation/query"', 'split = "validation/gallery"'}
        judge.check(f"{kind}: rows", rows, splits | ({"exclude_self = true"} if kind == "both_flags" else set()))
    if kind == "blanks":
        judge.check("blanks: rows", rows, {f'split = "{part}"' for part in ("train", "query", "gallery")})
    checked = judge.succeed("check", f"{kind}.toml")
    judge.check(f"{kind}: no warning", "warning" in checked.stderr, False)
    judge.run(f"{kind}.toml", f"runs/{kind}", "--set", "schedule.epochs=1", "--set", "stage.pairs.per_epoch=2", "--set",
                    "stage.model.width=4")
    recall = next(score for score in judge.scores(f"runs/{kind}") if score["metric"] == "recall.none.r@1")
    judge.check(f"{kind}: floors", {one["name"] for one in recall["beside"]}, {"chance", "before", "pixels"})

refused("no files", "no column for files", "picture,item\na.jpg,1\n")
refused("no items", "no column for items", "path,name\na.jpg,1\n")
refused("no rows", "no rows", "path,item\n")
refused("other splits", "has the splits dev, train", "path,item,split\na.jpg,1,train\nb.jpg,2,dev\n")
refused("one flag", "split 'validation' whose 'is_gallery' is true",
        flagged({"train": "train,,", "query": "validation,1,0", "gallery": "validation,1,0"}))
refused("few items", "1 item", "path,item\na.jpg,1\nb.jpg,1\n")
refused("a doubled file", "'a.jpg' in rows 2 and 3", "path,item\na.jpg,1\na.jpg,1\nb.jpg,2\n")
refused("single images", "0 training items with two or more images",
        "path,item\n" + "".join(f"{n}.jpg,{n}\n" for n in range(8)))
refused("cells", "3 cells in row 2", "path,item\na.jpg,1,2\n")

judge.end()
