"""Python's safetensors as the judge of what Seam reads and writes: safetensors_test.py SAFETENSORS_AGAIN.

The program reads a file that Python wrote and writes it again; Python must find the same tensors in it.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import safetensors
    import safetensors.torch
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

program = sys.argv[1]
generator = torch.Generator().manual_seed(1)
types = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
         torch.int8, torch.uint8, torch.bool]
tensors = {"layer1.0.conv1.weight": torch.randn(3, 2, 5, generator=generator)}
for dtype in types:
    name = str(dtype).removeprefix("torch.")
    tensors[f"model/{name}"] = torch.randint(0, 2, (3, 1, 7), generator=generator).to(dtype)
    tensors[f"model/{name}.scalar"] = torch.tensor(1, dtype=dtype)
    tensors[f"model/{name}.empty"] = torch.zeros(2, 0, 3, dtype=dtype)
tensors["special"] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])

with tempfile.TemporaryDirectory() as folder:
    first, second = pathlib.Path(folder, "first.safetensors"), pathlib.Path(folder, "second.safetensors")
    safetensors.torch.save_file(tensors, first, metadata={"format": "pt", "note": "a \"quoted\" é"})
    subprocess.run([program, first, second], check=True)
    loaded = safetensors.torch.load_file(second)
    with safetensors.safe_open(second, "pt") as file:
        metadata = file.metadata()
    cut = pathlib.Path(folder, "cut.safetensors")
    cut.write_bytes(first.read_bytes()[:-1])
    refused = subprocess.run([program, cut, second], capture_output=True, text=True)

failures = []
if loaded.keys() != tensors.keys():
    failures.append(f"names differ: {sorted(loaded.keys() ^ tensors.keys())}")
for name in loaded.keys() & tensors.keys():
    ours, theirs = loaded[name], tensors[name]
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        failures.append(f"{name}: {ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}")
    elif ours.reshape(-1).view(torch.uint8).tolist() != theirs.reshape(-1).view(torch.uint8).tolist():
        failures.append(f"{name}: other bytes")
if metadata.get("format") != "pt" or metadata.get("note") != "a \"quoted\" é":
    failures.append(f"the metadata is {metadata}")
if refused.returncode != 1 or "is damaged" not in refused.stderr:
    failures.append(f"a file that is cut: {refused}")

print(f"safetensors {safetensors.__version__} reads {len(loaded)} tensors of {len(tensors)}")
print("\n".join(failures))
sys.exit(1 if failures else 0)
