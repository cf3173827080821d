"""Images in tar files give what the same images in a folder give: tar_test.py SEAM.

The tars are packed by GNU tar and by Python's tarfile, in all their formats. Embeddings, rankings and the rows of shards must have
the bytes of dataset.folder.
"""

import io
import json
import shlex
import shutil
import subprocess
import tarfile

from judge import SEARCH, Judge, embeddings

PICTURES = """
[stage.pictures]
use = "dataset.folder"
root = "pictures"
"""
JOB = """
[stage.decode]
use = "image.decode"
on_error = "skip"
[stage.augment]
use = "image.augment"
[stage.batch]
use = "batch"
size = 16
[stage.pixels]
use = "baseline.pixels"
""" + SEARCH + """
[stage.neighbours]
use = "report.neighbours"
index = "gallery"
[stage.embeddings]
use = "export.embeddings"
[flow]
embed = "pictures -> decode -> augment -> batch -> pixels -> embeddings"
gallery = "pictures -> decode -> batch -> pixels -> gallery"
evaluate = "pictures -> decode -> batch -> pixels -> search -> {recall, neighbours}"
[schedule]
epochs = 1
"""
EMBED = '\neach_epoch = ["embed"]\n'
EMBED_AND_SEARCH = '\neach_epoch = ["embed", "gallery", "evaluate"]\n'
SHARDS = "shards/train-{000..002}.tar"
COLUMNS = ("row", "index", "item", "category", "number")  # which the data sets do not name differently

judge = Judge()
folder = judge.folder


def draw_pictures():
    """Fills the folder `pictures`, with a subfolder for each item; returns the files in their order."""
    for number, file in enumerate(judge.draw_wardrobe()):
        copy = folder / "pictures" / file.parent.name / f"{number:03}.jpg"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    return sorted((folder / "pictures").rglob("*.jpg"))


def label(files, ending, text):
    """Writes the labels next to the images, or removes them."""
    for file in files:
        file.with_suffix(f".{ending}").write_text(text(file.parent.name))


def unlabel(files, ending):
    for file in files:
        file.with_suffix(f".{ending}").unlink()


def pack(name, files, *options):
    """Packs images and labels with GNU tar, in the order of their names."""
    (folder / name).parent.mkdir(exist_ok=True)
    members = sorted(path.relative_to(folder / "pictures") for file in files for path in file.parent.glob(f"{file.stem}.*"))
    subprocess.run(["tar", "-C", folder / "pictures", "-cf", folder / name, *options, "--", *members], check=True)


def pipeline(name, source, flows=EMBED):
    (folder / name).write_text(f'[pipeline]\nname = "tars"\n{source}{JOB}{flows}')


def tars(names, item="cls", category="cls"):
    """The source that reads the tars, with labels from these members."""
    return (f'\n[stage.pictures]\nuse = "dataset.tar"\ntar = {json.dumps(names)}\n'
            f'item = "{item}"\ncategory = "{category}"\n')


def rows_of(run):
    """The vectors as bytes, and COLUMNS of the table."""
    table = judge.rows(f"{run}/embeddings.csv")
    return (folder / run / "embeddings.npy").read_bytes(), [[row[name] for name in COLUMNS] for row in table]


def metrics_of(run):
    return [{key: value for key, value in json.loads(line).items() if "second" not in key}
            for line in (folder / run / "metrics.jsonl").read_text().splitlines()]


files = draw_pictures()
judge.check("images", len(files), 112)
pipeline("folder.toml", PICTURES, EMBED_AND_SEARCH)
judge.run("folder.toml", "folder")
expected = rows_of("folder")

# Every format, with names as items, and with the fields of an object.
label(files, "cls", str)
for form in ("v7", "ustar", "gnu", "oldgnu", "posix"):
    pack(f"{form}.tar", files, f"--format={form}")
    pipeline(f"{form}.toml", tars(f"{form}.tar"))
    judge.run(f"{form}.toml", form)
    judge.check(f"GNU tar's {form}", rows_of(form), expected)
pack("long.tar", files, "--format=gnu", f"--transform=s,^,{'long/' * 30},")
pack("pax.tar", files, "--format=posix", f"--transform=s,^,{'x' * 120}/,")
pack("dot.tar", files, "--transform=s,^,./,")
for name in ("long", "pax", "dot"):
    pipeline(f"{name}.toml", tars(f"{name}.tar"))
    judge.run(f"{name}.toml", name)
    judge.check(f"names of {name}.tar", rows_of(name), expected)
for at, length in enumerate((len(files) // 3, len(files) // 2, len(files))):
    before = (0, len(files) // 3, len(files) // 2)[at]
    pack(f"shards/train-{at:03}.tar", files[before:length])
unlabel(files, "cls")
for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
    with tarfile.open(folder / f"python{form}.tar", "w", format=form) as tar:
        for number, file in enumerate(files):
            key = f"{'y' * 90}/{'z' * 90}{number:03}"
            text = json.dumps({"item": file.parent.name, "category": file.parent.name, "width": 1.5}).encode()
            info = tarfile.TarInfo(f"{key}.json")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
            tar.add(file, f"{key}.jpg")
    pipeline("python.toml", tars(f"python{form}.tar", "json:item", "json:category"))
    judge.run("python.toml", f"python{form}")
    judge.check(f"tarfile's format {form}", rows_of(f"python{form}"), expected)

# Several tars: metrics, and pictures in the report.
pipeline("tars.toml", tars(SHARDS), EMBED_AND_SEARCH)
judge.run("tars.toml", "tars")
judge.check("embeddings", rows_of("tars"), expected)
judge.check("scores", judge.scores("tars"), judge.scores("folder"))
judge.check("metrics", metrics_of("tars"), metrics_of("folder"))
table = judge.rows("tars/embeddings.csv")
judge.check("name of an image", (table[-1]["list"], table[-1]["path"]),
            ("shards/train-002.tar", str(files[-1].relative_to(folder / "pictures"))))


def drawn(run):
    """The problems with the drawn images, and the bytes of their files."""
    problems, pictures = set(), {}
    for file in (folder / run / "pictures").rglob("*"):
        if file.suffix == ".jpg":
            pictures[file.relative_to(folder / run)] = file.read_bytes()
        elif file.suffix == ".json":
            problems |= {part.split('"')[1] for part in file.read_text().split('"problem":')[1:]}
    return problems, pictures


judge.check("drawn images", drawn("tars")[0], set())
judge.holds(len(drawn("tars")[1]) > 10, f"{drawn('tars')}")
judge.check("the same are drawn", sorted(drawn("tars")[1].values()), sorted(drawn("folder")[1].values()))
judge.succeed("report", "tars")

# Shards.
for count in (1, 3):
    pipeline("shards.toml", tars(SHARDS))
    for number in range(count):
        judge.run("shards.toml", f"of{count}", "--shard", f"{number}/{count}")
    rows = [row for part in (folder / f"of{count}").glob("part-*") for row in embeddings(part)]
    rows.sort(key=lambda row: int(row[0]["number"]))
    judge.check(f"vectors of {count} shards", b"".join(vector for _, vector in rows), expected[0][128:])
    judge.check(f"rows of {count} shards", [[row[name] for name in COLUMNS[1:]] for row, _ in rows],
                [row[1:] for row in expected[1]])
    shards = json.loads(judge.succeed("shards", f"of{count}", "--json").stdout)
    judge.check(f"{count} shards are complete", shards["complete"])

# The output of commands.
pipes = [f"pipe:cat shards/train-{number:03}.tar" for number in range(3)]
pipeline("pipes.toml", tars(pipes), EMBED_AND_SEARCH)
judge.run("pipes.toml", "pipes")
judge.check("output of commands", rows_of("pipes"), expected)
judge.check("images of commands are not drawn", drawn("pipes")[0], {"it was in the output of a command, which is not kept"})
judge.succeed("report", "pipes")
spooled = folder / "spool"
spooled.mkdir()
judge.run("pipes.toml", "spooled", TMPDIR=str(spooled))
judge.check("files left in TMPDIR", list(spooled.iterdir()), [])
for command, why in (("echo no such bucket >&2; exit 7", "no such bucket\n"),
                     ("exit 7", "the command of 'pipe:exit 7' failed with exit code 7"),
                     ("head -c 30000 shards/train-000.tar", "the tar is truncated"),
                     ("gzip -c shards/train-000.tar", "this is not a tar, or it is compressed or damaged"),
                     ("cat shards/*.tar", "the tar ends, but data follows")):
    pipeline("failing.toml", tars(f"pipe:{command}"))
    judge.refused(command, why, "run", "failing.toml", "--run-dir", "failing", code=3)
    shutil.rmtree(folder / "failing", ignore_errors=True)
limited = f"trap '' XFSZ; ulimit -f 40; exec {shlex.quote(str(judge.seam))} run pipes.toml --run-dir limited"
ran = subprocess.run(["sh", "-c", limited], cwd=folder, capture_output=True, text=True, check=False)
judge.holds(ran.returncode == 3 and "the output of 'pipe:cat shards/train-000.tar' cannot be written to" in ran.stderr,
            f"a temporary file that is too large: {ran.returncode}: {ran.stderr}")

# Each tar stays open.
(folder / "many").mkdir()
for number in range(80):
    shutil.copy(folder / "shards/train-000.tar", folder / f"many/{number}.tar")
pipeline("many.toml", tars("many/{0..79}.tar"))
limited = f"ulimit -n 64; exec {shlex.quote(str(judge.seam))} run many.toml --run-dir many_files"
ran = subprocess.run(["sh", "-c", limited], cwd=folder, capture_output=True, text=True, check=False)
judge.holds(ran.returncode == 3 and "raise the limit: ulimit -n" in ran.stderr, f"many tars: {ran.returncode}: {ran.stderr}")

# A damaged image is named and skipped.
damaged = folder / "damaged.tar"
content = bytearray((folder / "ustar.tar").read_bytes())
with tarfile.open(folder / "ustar.tar") as tar:
    member = tar.getmember(str(files[17].relative_to(folder / "pictures")))
content[member.offset_data:member.offset_data + 200] = bytes(200)
damaged.write_bytes(content)
pipeline("damaged.toml", tars("damaged.tar"))
judge.run("damaged.toml", "damaged")
skipped = (folder / "damaged/skipped.jsonl").read_text()
judge.holds(f"damaged.tar ({member.name})" in skipped and len(skipped.splitlines()) == 1, skipped)
judge.check("rows without the damaged image", len(rows_of("damaged")[1]), len(files) - 1)

# A tar that is damaged or missing ends the run before its first image.
for name, change, why in (
        ("cut.tar", content[:-10240], "the tar is truncated"),
        ("preallocated.tar", content[:member.offset] + bytes(2 << 20), "it may be incomplete: fetch it again"),
        ("sum.tar", content[:5] + b"X" + content[6:], "sum.tar: at byte 0: the header's checksum is wrong"),
        ("none.tar", None, "'none.tar' cannot be opened: No such file")):
    if change is not None:
        (folder / name).write_bytes(change)
    pipeline("wrong.toml", tars(name))
    judge.refused(name, why, "run", "wrong.toml", "--run-dir", "wrong", code=3)
    shutil.rmtree(folder / "wrong", ignore_errors=True)

print(f"{len(files)} images, {len(list(folder.rglob('*.tar')))} tars")
judge.end()
