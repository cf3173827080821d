"""FAISS' exact index at the size of the In-Shop benchmark: the peer of search_bench.

    python search_faiss.py [--queries 14218] [--gallery 12612] [--dimensions 368] [--k 50] [--repeat 3]
"""

import argparse
import time

import faiss
import numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=14218)
    parser.add_argument("--gallery", type=int, default=12612)
    parser.add_argument("--dimensions", type=int, default=368)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    random = numpy.random.default_rng(1)
    gallery = random.standard_normal((options.gallery, options.dimensions), numpy.float32)
    queries = random.standard_normal((options.queries, options.dimensions), numpy.float32)
    for _ in range(options.repeat):
        start = time.perf_counter()
        index = faiss.IndexFlatL2(options.dimensions)
        index.add(gallery)
        index.search(queries, options.k)
        print(f"search seconds={time.perf_counter() - start:.3f} k={options.k}")


main()
