"""A straightforward PyTorch implementation of dynamic routing: the peer of routing_bench.

    python routing.py --network capsnet|scn|capsule_module|capsule_module_shared [--batch N] [--compile] [--turns 3]
                      [--threads N]

Forward and backward, written in the two ways of capsules.py; the faster one counts. Prints `routing peer_ms=...
peer_mib=... loss=... of_u=... of_weight=...`: milliseconds per image; the peak memory of a pass minus that of its
inputs, in a separate process (not with --compile, whose compiler needs more); and numbers of the result for comparison.
"""

import argparse
import statistics
import subprocess
import sys
import time

import torch

from capsules import by_products, by_sums, squash
from memory import forget_peak, peak_mib

NETWORKS = {  # images, input capsules, their size, classes, their size, iterations; as in routing_bench.cpp
    "capsnet": (128, 1152, 8, 10, 16, 3),
    "scn": (20, 4608, 8, 20, 16, 4),
    "capsule_module": (32, 384, 16, 12, 16, 3),
    "capsule_module_shared": (32, 384, 16, 12, 16, 3),
}


def drawn(network, images):
    """Capsules and weights: the numbers that routing_bench draws."""
    _, inputs, input_size, classes, size, _ = NETWORKS[network]
    shape = [input_size, classes * size] if network.endswith("_shared") else [inputs, input_size, classes * size]
    if network.startswith("capsule_module"):
        descriptors = torch.randn(images, 3, inputs * input_size // 3)
        u = (descriptors / descriptors.norm(dim=2, keepdim=True)).view(images, inputs, input_size)
        weight = torch.randn(shape)
    else:
        u = squash(torch.randn(images, inputs, input_size))
        weight = torch.empty(shape).uniform_(-0.2, 0.2)
    return u.requires_grad_(True), weight.requires_grad_(True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=sorted(NETWORKS), required=True)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--memory", choices=["by_products", "by_sums"], help="print the peak memory of one pass and exit")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    images, _, _, classes, _, iterations = NETWORKS[options.network]
    images = options.batch or images
    torch.manual_seed(0)

    def run(route, u, weight):
        loss = route(u, weight, classes, iterations).square().sum()
        loss.backward()
        return loss

    if options.memory:
        route = {"by_products": by_products, "by_sums": by_sums}[options.memory]
        run(route, *drawn(options.network, 1))  # threads and libraries allocate memory the first time
        u, weight = drawn(options.network, images)
        forget_peak()
        before = peak_mib()
        run(route, u, weight)
        print(f"{peak_mib() - before:.1f}")
        return

    u, weight = drawn(options.network, images)

    def milliseconds(route):
        start = time.perf_counter()
        run(route, u, weight)
        taken = 1e3 * (time.perf_counter() - start) / images
        u.grad = weight.grad = None
        return taken

    ways = {}
    for route in (by_products, by_sums):
        name = route.__name__
        if options.compile:
            route = torch.compile(route)
        milliseconds(route)  # compiles
        milliseconds(route)
        ways[name] = statistics.median(milliseconds(route) for _ in range(options.turns)), route
        print(f"{options.network}, {name}: {ways[name][0]:.3f} ms per image", flush=True)
    fastest = min(ways, key=lambda name: ways[name][0])
    taken, route = ways[fastest]
    loss = run(route, u, weight).item()
    memory = ""
    if not options.compile:
        alone = [sys.executable, __file__, "--network", options.network, "--batch", str(images), "--memory", fastest,
                 "--threads", str(torch.get_num_threads())]
        memory = f"peer_mib={subprocess.run(alone, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()} "
    print(f"routing network={options.network} way={fastest} peer_ms={taken:.3f} {memory}loss={loss:.6g} "
          f"of_u={u.grad.norm().item():.6g} of_weight={weight.grad.norm().item():.6g}")


main()
