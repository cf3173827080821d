"""Python's safetensors reads the checkpoint of a run: checkpoint_test.py SEAM."""

import json

from judge import Judge, needed
from lane_pipelines import TRIPLETS

safetensors, torch, _ = needed("safetensors", "torch", "safetensors.torch")

judge = Judge()
folder = judge.folder
(folder / "judged.toml").write_text(TRIPLETS)
judge.run("judged.toml", "out", "--threads", "1")
file = folder / "out/checkpoints/epoch-2.safetensors"
tensors = safetensors.torch.load_file(file)
with safetensors.safe_open(file, "pt") as opened:
    metadata = opened.metadata()

stages = dict(json.loads(metadata["seam.stages"]))
judge.holds(stages.get("model") == "model.sccapsnet" and stages.get("adam") == "train.adam", f"the stages are {stages}")
judge.holds(metadata["seam.run.epochs_done"] == "2" and metadata["format"] == "pt", f"the metadata is {metadata}")
weights = {key: tensor for key, tensor in tensors.items() if key.startswith("model/")}
trained = [key for key, tensor in weights.items() if tensor.is_floating_point()]
judge.holds(len(trained) >= 5 and all(torch.isfinite(weights[key]).all() for key in trained), f"the model's weights are {sorted(weights)}")
judge.holds(any(key.startswith("adam/") for key in tensors), "there is no state of the optimizer")
print(f"{len(tensors)} tensors, {sum(tensor.numel() for tensor in weights.values())} numbers in the model")
judge.end()
