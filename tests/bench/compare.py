"""Runs a benchmark program and its peers in turns and prints medians. Called by scripts/bench."""

import argparse
import functools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from measuring import ROOT, run, seam_training, values_in_turns

PEERS = ROOT / "tests" / "bench" / "peers"
VENV = ROOT / "build" / "peers-venv"
PACKAGES = {
    "torch": "torch==2.13.0",
    "opencv": "opencv-python-headless",
    "faiss": "faiss-cpu",
    "dali": "nvidia-dali-cuda120",
    "numpy": "numpy",
    "spdl": "spdl",
    "turboloader": "turboloader",
    "losses": "pytorch-metric-learning",
}


def peer_python(*needed):
    """The virtual environment's Python, with the named packages installed."""
    python = VENV / "bin" / "python"
    if not python.exists():
        print("bench: creating build/peers-venv", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    for name in needed:
        mark = VENV / f"has-{name}"
        if not mark.exists():
            print(f"bench: installing {PACKAGES[name]}", flush=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet",
                            "--disable-pip-version-check", PACKAGES[name]], check=True)
            mark.touch()
    return str(python)


def in_turns(name, turns, programs):
    """Medians by program and key; programs: {label: command}."""
    seen = values_in_turns(turns, {label: functools.partial(run, name, command, ROOT) for label, command in programs.items()})
    return {label: {key: statistics.median(values) for key, values in keys.items()} for label, keys in seen.items()}


def words(sizes, *names):
    """The named sizes that the command line has, for a program's command line."""
    return [word for name in names if sizes[name] is not None for word in (f"--{name}", sizes[name])]


def expect_the_same(what, ours, peers, keys, tolerance=1e-3):
    """Ends the comparison if a peer computes something else; only the order of sums may differ."""
    for label, theirs in peers.items():
        for key in keys:
            if abs(theirs[key] - ours[key]) > tolerance * abs(ours[key]):
                sys.exit(f"bench: {what}, {key}: {label} has {theirs[key]}, Seam {ours[key]}; they do not compute the "
                         "same")


def bench_itself(options):
    """For programs that measure both sides in one process."""
    program = options.programs / f"{options.name}_bench"
    os.execv(program, [str(program)])  # full path: it restarts itself to measure memory


def computes_in_bfloat16():
    flags = pathlib.Path("/proc/cpuinfo")
    return flags.exists() and re.search(r"\b(avx512_bf16|amx_bf16)\b", flags.read_text()) is not None


def with_bfloat16(commands, *labels):
    """The commands, and those with these labels in bfloat16 as well, if the CPU supports it."""
    if computes_in_bfloat16():
        return commands | {f"{label}, bfloat16": [*commands[label], "--precision", "bfloat16"] for label in labels}
    print("bench: this CPU does not compute in bfloat16; continuing without it")
    return commands


def bench_step(options):
    ours, theirs = options.programs / "step_bench", [peer_python("numpy", "torch"), PEERS / "sccapsnet_step.py"]
    commands = {"Seam": [ours], "PyTorch": theirs, "strongest PyTorch": [*theirs, "--strongest"]}
    found = in_turns("step", options.turns, with_bfloat16(commands, "Seam", "strongest PyTorch"))
    seam, peer, strongest = found["Seam"], found["PyTorch"], found["strongest PyTorch"]
    text = (f"step ratio={peer['ms_per_image'] / seam['ms_per_image']:.2f} "
            f"seam_ms={seam['ms_per_image']:.1f} peer_ms={peer['ms_per_image']:.1f} "
            f"memory_ratio={peer['peak_gib'] / seam['peak_gib']:.2f} "
            f"seam_gib={seam['peak_gib']:.2f} peer_gib={peer['peak_gib']:.2f} "
            f"strongest_ratio={strongest['ms_per_image'] / seam['ms_per_image']:.2f} "
            f"strongest_ms={strongest['ms_per_image']:.1f} strongest_gib={strongest['peak_gib']:.2f}")
    if "Seam, bfloat16" in found:
        narrow, strongest = found["Seam, bfloat16"], found["strongest PyTorch, bfloat16"]
        text += (f" bfloat16_ratio={strongest['ms_per_image'] / narrow['ms_per_image']:.2f} "
                 f"bfloat16_seam_ms={narrow['ms_per_image']:.1f} "
                 f"bfloat16_strongest_ms={strongest['ms_per_image']:.1f} "
                 f"bfloat16_seam_gib={narrow['peak_gib']:.2f} "
                 f"bfloat16_strongest_gib={strongest['peak_gib']:.2f}")
    print(text)


def bench_descriptors_step(options):
    python, network, sizes = peer_python("numpy", "torch"), options.network or "small", options.sizes
    ours = [options.programs / "descriptors_step_bench", "--network", network,
            *words(sizes, "items", "images", "size", "steps", "threads")]
    with tempfile.TemporaryDirectory() as folder:
        initial = pathlib.Path(folder) / "initial.safetensors"
        print("images and initial weights:", flush=True)
        run("descriptors_step", [*ours, "--steps", "0", "--save", initial], ROOT)
        theirs = [python, PEERS / "descriptors_step.py", "--network", network, "--initial", initial,
                  *words(sizes, "steps", "threads")]
        commands = with_bfloat16({"Seam": ours, "PyTorch": theirs}, "Seam", "PyTorch")
        found = in_turns("descriptors_step", options.turns, commands)
    seam, peer = found["Seam"], found["PyTorch"]
    what = f"descriptors_step, {network}"
    expect_the_same(what, seam, {"PyTorch": peer}, ("loss", "parameters"), tolerance=1e-4)
    # The gradient of the first convolution is a small difference of large sums: in float32 PyTorch's own layouts differ by 4e-4.
    expect_the_same(what, seam, {"PyTorch": peer}, ("gradient",), tolerance=1e-2)
    text = (f"descriptors_step network={network} ratio={peer['ms_per_image'] / seam['ms_per_image']:.2f} "
            f"seam_ms={seam['ms_per_image']:.3f} pytorch_ms={peer['ms_per_image']:.3f} "
            f"memory_ratio={peer['peak_mib'] / seam['peak_mib']:.2f} "
            f"seam_mib={seam['peak_mib']:.0f} pytorch_mib={peer['peak_mib']:.0f} "
            f"seam_step_mib={seam['peak_mib'] - seam['before_mib']:.0f} "
            f"pytorch_step_mib={peer['peak_mib'] - peer['before_mib']:.0f}")
    if "Seam, bfloat16" in found:
        narrow, peer = found["Seam, bfloat16"], found["PyTorch, bfloat16"]
        text += (f" bfloat16_ratio={peer['ms_per_image'] / narrow['ms_per_image']:.2f} "
                 f"bfloat16_seam_ms={narrow['ms_per_image']:.3f} bfloat16_pytorch_ms={peer['ms_per_image']:.3f} "
                 f"bfloat16_seam_mib={narrow['peak_mib']:.0f} bfloat16_pytorch_mib={peer['peak_mib']:.0f}")
    print(text)


def trained_parameters(build, file, stages):
    """The number of parameters that training changes in the named stages."""
    commands = ([build / "bin" / "seam", "inspect", "--json", ROOT / "pipelines" / file, stage] for stage in stages)
    found = (subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True) for command in commands)
    return sum(json.loads(done.stdout)["network"]["trained"] for done in found)


# Three batches of 32 triplets at 256x256; 23 class capsules, whatever the list's categories are.
FEW = ("stage.train_items.limit=96", "stage.model.train_mask=none", "stage.model.classes=23")


def set_inshop(folder):
    """Returns DeepFashion's In-Shop folder, which pipeline files then find."""
    folder = folder or "SEAM_TEST_DATA" in os.environ and pathlib.Path(os.environ["SEAM_TEST_DATA"]) / "deepfashion-inshop"
    if not folder:
        sys.exit("bench: name DeepFashion's In-Shop folder, or set SEAM_TEST_DATA")
    os.environ["DEEPFASHION"] = str(folder)
    return folder


def bench_run(options):
    """`seam run` on real files beside loops in PyTorch that train the same networks on the same images; SCCapsNet's peer
    takes steps on random ones."""
    folder, build, turns = set_inshop(options.folder), options.build, options.turns
    python = peer_python("numpy", "torch", "opencv", "losses")
    training = [python, PEERS / "inshop_training.py", folder, "--network"]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["LITE0"] = f"{scratch}/lite0.pt"
        subprocess.run([python, ROOT / "scripts" / "export_lite0.py", os.environ["LITE0"]], check=True)
        sccapsnet = [python, PEERS / "sccapsnet_step.py", "--strongest"]
        type_d = ("model", "enhance", "attention", "descriptors", "capsules", "together")
        programs = {  # file: its changes, the stages that are trained, the peer's name and program
            "inshop-embedding.toml": (("schedule.epochs=3",), ["model"], "run", [*training, "embedding"]),
            "inshop-sccapsnet.toml": ((*FEW, "schedule.epochs=2"), None, "step", sccapsnet),
            "descriptors/type-d.toml": (("schedule.epochs=2", "schedule.stop_early=false"), type_d, "run", [*training, "type-d", "--epochs", "2"]),
            "inshop-pretrained.toml": (("schedule.epochs=2",), ["model"], "run", [*training, "pretrained", "--epochs", "2"]),
        }
        lines = []
        for precision in ("float32", "bfloat16") if computes_in_bfloat16() else ("float32",):
            speeds = {file: ([], []) for file in programs}
            for turn in range(turns):
                for file, (changes, stages, name, peer) in programs.items():
                    print(f"turn {turn + 1} of {turns}, {file}, {precision}: Seam, PyTorch", flush=True)
                    ours = seam_training(ROOT, build, file, f"pipeline.precision={precision}", *changes)
                    theirs = run(name, [*peer, "--precision", precision], ROOT)
                    if stages:
                        ours["parameters"] = trained_parameters(build, file, stages)
                        expect_the_same("run", ours, {"PyTorch": theirs}, ["parameters"], 0)
                    speeds[file][0].append(ours["images_per_second"])
                    speeds[file][1].append(theirs.get("images_per_second") or 1000 / theirs["ms_per_image"])
            for file, sides in speeds.items():
                ours, theirs = map(statistics.median, sides)
                lines.append(f"run file={pathlib.Path(file).stem} precision={precision} ratio={ours / theirs:.2f} "
                             f"seam_images_per_second={ours:.1f} pytorch_images_per_second={theirs:.1f}")
    print("\n".join(lines))


def step_costs(run):
    """Of a training step: the memory of its tensors in MiB, its seconds, the network's share of them, and the seconds that ranks
    spend in exchanges and the MiB that they receive."""
    train = next(flow for flow in json.loads((run / "summary.json").read_text())["flows"] if flow["flow"] == "train")
    stages = {stage["stage"]: stage for stage in train["stages"]}
    steps = stages["adam"]["delivered"]
    exchanged = re.search(r"spent ([\d.]+) s in exchanges, and received ([\d.,]+) MiB", (run / "run.log").read_text())
    seconds, received = (float(one.replace(",", "")) for one in exchanged.groups()) if exchanged else (float("nan"),) * 2
    return {"mib": max(stage.get("tensor_bytes_in_use", 0) for stage in train["stages"]) / 2**20,
            "step": train["seconds"] / steps, "network": (stages["model"]["busy_seconds"] + stages["model"]["backward_seconds"]) / train["seconds"],
            "exchange": seconds / steps, "received": received / steps}


def speed_of_ranks(seconds, rows, network, received, machines, gigabits):
    """How many times as many images per second this many machines train, if each computes a lane of `rows` rows of a batch and
    nothing else delays them. `seconds`: per image in one process; the networks need the share `network`. `received`: MiB per
    step by one of two ranks; a rank of many receives up to twice as much."""
    whole = machines * rows * seconds
    transfer = 2 * (machines - 1) / machines * received * 2**20 * 8 / (gigabits * 1e9)
    return whole / (whole * (1 - network) + rows * seconds * network + transfer)


def bench_lanes(options):
    """Training steps in lanes, and by two ranks with one thread each, beside one process with two threads."""
    set_inshop(options.folder)
    build, turns = options.build, options.turns
    if not shutil.which("mpirun") or not (build / "lib" / "seam" / "seam_mpi.so").exists():
        sys.exit("bench: there is no mpirun, or seam_mpi.so was not built")
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    lines = []
    for file, few in (("inshop-embedding.toml", ()), ("inshop-sccapsnet.toml", FEW)):
        def train(lanes, *changes, few=few, file=file, **more):
            changes = (*few, "schedule.epochs=2", f"pipeline.lanes={lanes}", *changes)
            return lambda: seam_training(ROOT, build, file, *changes, read=step_costs, **more)

        seen = values_in_turns(turns, {
            "without lanes": train(1),
            "4 lanes": train(4),
            "8 lanes, recomputed": train(8, 'pipeline.lanes_memory="recompute"'),
            "4 lanes, two ranks of one thread": train(4, launcher=mpirun, threads=1),
        })
        whole, lanes, recomputed, ranks = ({key: statistics.median(values) for key, values in keys.items()} for keys in seen.values())
        name, speed = f"file={pathlib.Path(file).stem}", "images_per_second"
        lines.append(f"lanes {name} ratio={lanes[speed] / whole[speed]:.2f} seam_{speed}={lanes[speed]:.1f} "
                     f"whole_{speed}={whole[speed]:.1f} mib={lanes['mib']:.0f} whole_mib={whole['mib']:.0f} "
                     f"recomputed_{speed}={recomputed[speed]:.1f} recomputed_mib={recomputed['mib']:.0f}")
        lines.append(f"ranks {name} ratio={ranks[speed] / lanes[speed]:.2f} seam_{speed}={ranks[speed]:.1f} "
                     f"process_{speed}={lanes[speed]:.1f} exchange_share={ranks['exchange'] / ranks['step']:.3f} "
                     f"received_mib={ranks['received']:.1f} network_share={lanes['network']:.2f}")
        seconds = 1 / lanes[speed]
        rows = lanes["step"] / seconds / 4
        lines += (f"estimate {name} rows={rows:.0f} machines={machines} gigabits={gigabits} "
                  f"times={speed_of_ranks(seconds, rows, lanes['network'], ranks['received'], machines, gigabits):.1f}"
                  for machines in (8, 64) for gigabits in (10, 25))
    print("\n".join(lines))


def bench_input(options):
    programs, folder = options.programs, options.folder
    if folder is None and "SEAM_TEST_DATA" in os.environ:
        folder = pathlib.Path(os.environ["SEAM_TEST_DATA"]) / "deepfashion-inshop"
    if folder is None:
        sys.exit("bench: name a folder of JPEG files, or set SEAM_TEST_DATA")
    python = peer_python("numpy", "torch", "opencv")
    commands = {
        "Seam": [programs / "input_bench", folder],
        "DataLoader": [python, PEERS / "input_loader.py", folder],
    }
    for label in ("DALI", "SPDL", "TurboLoader"):
        name = label.lower()
        try:
            command = [peer_python(name), PEERS / f"input_{name}.py"]
        except subprocess.CalledProcessError:
            print(f"bench: {label} cannot be installed here; continuing without it")
            continue
        trial = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)  # loads its libraries
        if trial.returncode == 0:
            commands[label] = [*command, folder]
        else:
            why = (trial.stderr.splitlines() or [f"exit {trial.returncode}"])[-1]
            print(f"bench: {label} does not work here; continuing without it: {why}")
    found = in_turns("input", options.turns, commands)
    rates = {label: keys["images_per_second"] for label, keys in found.items()}
    text = (f"input ratio={rates['Seam'] / rates['DataLoader']:.2f} "
            f"seam_images_per_second={rates['Seam']:.0f} "
            f"loader_images_per_second={rates['DataLoader']:.0f}")
    for label in list(rates)[2:]:
        name = label.lower()
        text += f" {name}_images_per_second={rates[label]:.0f} {name}_ratio={rates['Seam'] / rates[label]:.2f}"
    print(text)


def bench_routing_of(networks, options):
    python, sizes = peer_python("numpy", "torch"), options.sizes
    lines = []
    for network in networks:
        given = ["--network", network, *words(sizes, "batch", "threads")]
        peer = [python, PEERS / "routing.py", *given]
        found = in_turns("routing", options.turns, {
            "Seam": [options.programs / "routing_bench", *given, "--turns", "3"],
            "PyTorch": peer,
            "torch.compile": [*peer, "--compile"],
        })
        ours, plain, compiled = found["Seam"], found["PyTorch"], found["torch.compile"]
        expect_the_same(network, ours, {"PyTorch": plain, "torch.compile": compiled}, ("loss", "of_u", "of_weight"))
        lines.append(f"{options.name} network={network} ratio={plain['peer_ms'] / ours['seam_ms']:.2f} "
                     f"compiled_ratio={compiled['peer_ms'] / ours['seam_ms']:.2f} seam_ms={ours['seam_ms']:.3f} "
                     f"pytorch_ms={plain['peer_ms']:.3f} compiled_ms={compiled['peer_ms']:.3f} "
                     f"libtorch_ms={ours['direct_ms']:.3f} memory_ratio={plain['peer_mib'] / ours['seam_mib']:.2f} "
                     f"seam_mib={ours['seam_mib']:.1f} pytorch_mib={plain['peer_mib']:.1f} "
                     f"libtorch_mib={ours['direct_mib']:.1f}")
    print("\n".join(lines))


def bench_leave_one_out(options):
    sizes = words(options.sizes, "images", "items", "dimensions", "k", "queries", "likeness", "threads")
    faiss = [peer_python("numpy", "faiss"), PEERS / "leave_one_out_faiss.py", *sizes]
    found = in_turns("leave_one_out", options.turns, {
        "Seam": [options.programs / "leave_one_out_bench", *sizes, *words(options.sizes, "batch")],
        "FAISS, IndexFlatL2": [*faiss, "--metric", "l2"],
        "FAISS, IndexFlatIP": [*faiss, "--metric", "ip"],
    })
    seam = found.pop("Seam")
    recall = {key: value for key, value in seam.items() if key.startswith("recall_at_")}
    for label, keys in found.items():
        for key, value in recall.items():
            # The distances of FAISS are rounded to float32, so neighbours at the cut-off may change places.
            if abs(keys[key] - value) > 2e-4:
                sys.exit(f"bench: {key}: {label} has {keys[key]}, Seam {value}; they do not find the same neighbours")
    label, peer = min(found.items(), key=lambda side: side[1]["seconds"])
    print(f"leave_one_out ratio={peer['seconds'] / seam['seconds']:.2f} "
          f"seam_seconds={seam['seconds']:.3f} faiss_seconds={peer['seconds']:.3f} "
          f"faiss={label.split()[-1]} memory_ratio={peer['peak_mib'] / seam['peak_mib']:.2f} "
          f"seam_mib={seam['peak_mib']:.0f} faiss_mib={peer['peak_mib']:.0f} "
          + " ".join(f"{key}={value:.6g}" for key, value in recall.items()))


def bench_search(options):
    found = in_turns("search", options.turns, {
        "Seam": [options.programs / "search_bench"],
        "FAISS": [peer_python("numpy", "faiss"), PEERS / "search_faiss.py"],
    })
    ours, peer = found["Seam"]["seconds"], found["FAISS"]["seconds"]
    print(f"search ratio={peer / ours:.2f} seam_seconds={ours:.3f} faiss_seconds={peer:.3f}")


BENCHMARKS = {
    "routing": bench_itself,
    "own_routing": functools.partial(bench_routing_of, ("capsnet", "scn")),
    "capsule_module_routing": functools.partial(bench_routing_of, ("capsule_module", "capsule_module_shared")),
    "step": bench_step,
    "descriptors_step": bench_descriptors_step,
    "input": bench_input,
    "hop": bench_itself,
    "search": bench_search,
    "leave_one_out": bench_leave_one_out,
    "soak": bench_itself,
    "mining": bench_itself,
    "run": bench_run,
    "lanes": bench_lanes,
}
# The sizes that each benchmark accepts.
SIZES = {
    "own_routing": ("batch", "threads"),
    "capsule_module_routing": ("batch", "threads"),
    "descriptors_step": ("items", "images", "size", "steps", "threads"),
    "leave_one_out": ("images", "items", "dimensions", "k", "queries", "likeness", "batch", "threads"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--network", choices=["small", "published"], help="for descriptors_step; default: small")
    for size in sorted({size for sizes in SIZES.values() for size in sizes}):
        parser.add_argument(f"--{size}", type=int)
    options = parser.parse_intermixed_args()  # a folder may follow options
    known = {size: getattr(options, size) for sizes in SIZES.values() for size in sizes}
    options.sizes = {size: known.pop(size) for size in SIZES.get(options.name, ())}
    for size, value in known.items():
        if value is not None:
            parser.error(f"{options.name} has no --{size}")
    if options.network and options.name != "descriptors_step":
        parser.error(f"{options.name} has no --network")
    options.build = (ROOT / options.build).resolve()
    options.programs = options.build / "bench"
    BENCHMARKS[options.name](options)


main()
