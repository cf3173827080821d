"""scripts/export_lite0.py writes what the pipeline files with a pretrained network read: pretrained_test.py SEAM SOURCE_TREE.

Random weights stand in for those that the script downloads.
"""

import ctypes
import pathlib
import shutil
import sys

from judge import Judge, needed, tensors

[torch] = needed("torch")

tree = pathlib.Path(sys.argv[2]).resolve()
judge = Judge()
folder = judge.folder
sys.path.append(str(tree / "scripts"))
import export_lite0

network = export_lite0.Lite0()
export_lite0.write(network, folder / "lite0.pt")

images = torch.rand(2, 3, 64, 64)
embedding, feature_map = torch.jit.load(str(folder / "lite0.pt")).eval()(images)
assert feature_map.shape == (2, 1280, 2, 2), feature_map.shape
assert torch.equal(embedding, feature_map.mean((2, 3)))
assert torch.equal(network.eval()(images)[1], feature_map), "the script computes something else than the module"

for picture in judge.draw_wardrobe():
    item = folder / "photos" / picture.parent.name
    item.mkdir(parents=True, exist_ok=True)
    shutil.copy(picture, item)
photos = {"LITE0": "lite0.pt", "PHOTOS": "photos"}
odd = judge.call("run", tree / "pipelines/photos-pretrained.toml", "--set", "stage.random_crop.height=100", **photos)
judge.holds(odd.returncode == 2 and "must be multiples of 32" in odd.stderr, f"100 rows: {odd.returncode} {odd.stderr}")
short = ("schedule.epochs=1", "stage.pairs.per_epoch=1", "stage.pairs.items=4", "stage.pair_batch.size=16")
judge.run(tree / "pipelines/photos-pretrained.toml", "tuned", *(word for key in short for word in ("--set", key)), **photos)
tuned = tensors(folder / "tuned", "epoch-1")
for name, tensor in network.state_dict().items():
    if not name.endswith("num_batches_tracked"):
        frozen = "_bn" in name
        before = ctypes.string_at(tensor.data_ptr(), 4 * tensor.numel())
        judge.check(f"{name} is as before", tuned[f"model/{name}"][2] == before, frozen)

judge.run(tree / "pipelines/embed.toml", "embedded", TRAINED=str(folder / "tuned"), PICTURES="photos", LITE0="lite0.pt")
judge.holds((folder / "embedded/embeddings.npy").exists(), "no embeddings")

(folder / "data").mkdir()  # In-Shop without images
for file in ("inshop-pretrained.toml", "descriptors/type-c.toml", "descriptors/type-d.toml"):
    variant = ["--variant", "lite0"] if "type" in file else []
    checked = judge.call("check", tree / "pipelines" / file, *variant, LITE0="lite0.pt", DEEPFASHION="data")
    judge.holds(": ok: " in checked.stdout, f"{file}: {checked.stdout}{checked.stderr}")
judge.end()
