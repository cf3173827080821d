"""Dynamic routing by weights of each input capsule's own as one writes it in PyTorch: the peer of own_routing_bench.

    python own_routing.py --network capsnet|scn [--compile] [--turns 3] [--threads N]

Procedure 1 of Sabour, Frosst and Hinton (2017), forward and backward, with every prediction in memory. Written in
two ways, as products of matrices and as weighted sums, which torch.compile can fuse; the faster one counts. Prints
`own_routing peer_ms=... loss=... of_u=... of_weight=...`: milliseconds an image, and numbers of the result to compare.
"""

import argparse
import statistics
import time

import torch

NETWORKS = {  # images, input capsules, their size, classes, their size, iterations; as in own_routing_bench.cpp
    "capsnet": (128, 1152, 8, 10, 16, 3),
    "scn": (20, 4608, 8, 20, 16, 4),
}


def squash(s):
    squared = s.square().sum(dim=-1, keepdim=True)
    return s * (squared / (1 + squared) / (squared + 1e-7).sqrt())


def predictions_of(u, weight, classes):
    """[images, classes, inputs, size]"""
    images, inputs, _ = u.shape
    made = torch.bmm(u.transpose(0, 1), weight)  # an input's: images x classes * size
    return made.view(inputs, images, classes, -1).permute(1, 2, 0, 3).contiguous()


def by_products(u, weight, classes, iterations):
    predictions = predictions_of(u, weight, classes)
    logits = torch.zeros(predictions.shape[:3])
    for iteration in range(iterations):
        v = squash(torch.matmul(logits.softmax(dim=1).unsqueeze(2), predictions).squeeze(2))
        if iteration + 1 < iterations:
            logits = logits + torch.matmul(predictions, v.unsqueeze(3)).squeeze(3)
    return v


def by_sums(u, weight, classes, iterations):
    predictions = predictions_of(u, weight, classes)
    logits = torch.zeros(predictions.shape[:3])
    for iteration in range(iterations):
        v = squash((logits.softmax(dim=1).unsqueeze(3) * predictions).sum(dim=2))
        if iteration + 1 < iterations:
            logits = logits + (predictions * v.unsqueeze(2)).sum(dim=3)
    return v


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=sorted(NETWORKS), required=True)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    images, inputs, input_size, classes, size, iterations = NETWORKS[options.network]
    torch.manual_seed(0)  # the numbers that own_routing_bench draws
    u = squash(torch.randn(images, inputs, input_size)).requires_grad_(True)
    weight = torch.empty(inputs, input_size, classes * size).uniform_(-0.2, 0.2).requires_grad_(True)

    def milliseconds(route):
        start = time.perf_counter()
        route(u, weight, classes, iterations).square().sum().backward()
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
        print(f"{options.network}, {name}: {ways[name][0]:.3f} ms an image", flush=True)
    fastest = min(ways, key=lambda name: ways[name][0])
    taken, route = ways[fastest]
    loss = route(u, weight, classes, iterations).square().sum()
    loss.backward()
    print(f"own_routing network={options.network} way={fastest} peer_ms={taken:.3f} loss={loss.item():.6g} "
          f"of_u={u.grad.norm().item():.6g} of_weight={weight.grad.norm().item():.6g}")


main()
