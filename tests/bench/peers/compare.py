"""Runs a benchmark program and its peers in turns and prints medians. Called by scripts/bench.

Every program, ours and theirs, prints lines `NAME key=value ...`; the last such line counts.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PEERS = pathlib.Path(__file__).resolve().parent
VENV = ROOT / "build" / "peers-venv"
PACKAGES = {
    "torch": "torch==2.13.0",
    "opencv": "opencv-python-headless",
    "faiss": "faiss-cpu",
    "dali": "nvidia-dali-cuda120",
    "numpy": "numpy",
}


def peer_python(*needed):
    """The virtual environment's Python, with the named packages installed."""
    python = VENV / "bin" / "python"
    if not python.exists():
        print("bench: making build/peers-venv", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    for name in needed:
        mark = VENV / f"has-{name}"
        if not mark.exists():
            print(f"bench: installing {PACKAGES[name]}", flush=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet",
                            "--disable-pip-version-check", PACKAGES[name]], check=True)
            mark.touch()
    return str(python)


def run(name, command, folder):
    """The key=value pairs of the last line that starts with the name."""
    done = subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE,
                          text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith(name + " ")]
    if done.returncode != 0 or not lines:
        sys.exit(f"bench: {' '.join(map(str, command))}: "
                 f"exit {done.returncode}, printed {done.stdout[-2000:]!r}")
    print("  " + lines[-1], flush=True)
    return {key: float(value) for key, value in re.findall(r"(\w+)=([-+.\deE]+)(?=\s|$)", lines[-1])}


def in_turns(name, turns, programs):
    """Medians by program and key; programs: {label: command}."""
    seen = {label: {} for label in programs}
    for turn in range(turns):
        for label, command in programs.items():
            print(f"turn {turn + 1} of {turns}, {label}:", flush=True)
            for key, value in run(name, command, ROOT).items():
                seen[label].setdefault(key, []).append(value)
    return {label: {key: statistics.median(values) for key, values in keys.items()}
            for label, keys in seen.items()}


def bench_itself(name, programs):
    """For programs that measure both sides in one process."""
    program = programs / f"{name}_bench"
    os.execv(program, [str(program)])  # in full: it starts itself again to measure memory


def bench_step(programs, turns):
    python = peer_python("numpy", "torch")
    found = in_turns("step", turns, {
        "Seam": [programs / "step_bench"],
        "PyTorch": [python, PEERS / "sccapsnet_step.py"],
    })
    ours, peer = found["Seam"], found["PyTorch"]
    print("where Seam's time goes:", flush=True)
    subprocess.run([programs / "step_bench", "--steps", "1", "--breakdown"], check=True)
    print(f"step ratio={peer['ms_per_image'] / ours['ms_per_image']:.2f} "
          f"seam_ms={ours['ms_per_image']:.1f} peer_ms={peer['ms_per_image']:.1f} "
          f"memory_ratio={peer['peak_gib'] / ours['peak_gib']:.2f} "
          f"seam_gib={ours['peak_gib']:.2f} peer_gib={peer['peak_gib']:.2f}")


def bench_input(programs, turns, folder):
    if folder is None and "SEAM_TEST_DATA" in os.environ:
        folder = pathlib.Path(os.environ["SEAM_TEST_DATA"]) / "deepfashion-inshop"
    if folder is None:
        sys.exit("bench: name a folder of JPEG files, or set SEAM_TEST_DATA")
    python = peer_python("numpy", "torch", "opencv")
    commands = {
        "Seam": [programs / "input_bench", folder],
        "DataLoader": [python, PEERS / "input_loader.py", folder],
    }
    try:
        commands["DALI"] = [peer_python("dali"), PEERS / "input_dali.py", folder]
    except subprocess.CalledProcessError:
        print("bench: DALI cannot be installed here; going on without it")
    found = in_turns("input", turns, commands)
    rates = {label: keys["images_per_second"] for label, keys in found.items()}
    text = (f"input ratio={rates['Seam'] / rates['DataLoader']:.2f} "
            f"seam_images_per_second={rates['Seam']:.0f} "
            f"loader_images_per_second={rates['DataLoader']:.0f}")
    if "DALI" in rates:
        text += (f" dali_images_per_second={rates['DALI']:.0f}"
                 f" dali_ratio={rates['Seam'] / rates['DALI']:.2f}")
    print(text)


def bench_search(programs, turns):
    python = peer_python("numpy", "faiss")
    found = in_turns("search", turns, {
        "Seam": [programs / "search_bench"],
        "FAISS": [python, PEERS / "search_faiss.py"],
    })
    ours, peer = found["Seam"]["seconds"], found["FAISS"]["seconds"]
    print(f"search ratio={peer / ours:.2f} seam_seconds={ours:.3f} faiss_seconds={peer:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["routing", "step", "input", "hop", "search", "soak"])
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_intermixed_args()  # a folder may follow options
    programs = (ROOT / options.build / "bench").resolve()
    if options.name in ("routing", "hop", "soak"):
        bench_itself(options.name, programs)
    elif options.name == "step":
        bench_step(programs, options.turns)
    elif options.name == "input":
        bench_input(programs, options.turns, options.folder)
    else:
        bench_search(programs, options.turns)


main()
