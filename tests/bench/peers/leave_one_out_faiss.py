"""FAISS' exact index at the size of Stanford Online Products' test set: the peer of leave_one_out_bench.

    python leave_one_out_faiss.py [--images 60502] [--items 11316] [--dimensions 6144] [--k 1000] [--metric l2|ip]
                                  [--queries 60502] [--batch 4096] [--likeness 0] [--threads 2]

Uses bit-identical vectors, added in blocks; queries are read from the index, so that neither side stores them twice.
k + 1 neighbours are found and the query itself is dropped by its number. FAISS searches 4,096 queries at a time; all at
once would only store more results. Only add() and search() are timed.
"""

import argparse
import time

import faiss
import numpy

from memory import peak_mib

PUBLISHED_IMAGES, PUBLISHED_ITEMS = 60502, 11316


def numbers(stream, first, count):
    """leave_one_out_bench's number(stream, first + i), for each i below count."""
    bits = numpy.arange(first, first + count, dtype=numpy.uint64) + numpy.uint64((stream << 40) + 1)
    bits *= numpy.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    bits ^= bits >> numpy.uint64(31)
    return bits.view(numpy.uint16).reshape(count, 4).sum(axis=1, dtype=numpy.int64) - 2 * 0xFFFF


def vectors(options, first, count):
    wide = options.dimensions
    own = numbers(0, first * wide, count * wide).reshape(count, wide)
    shared = 0
    if options.likeness:
        shared = numpy.stack([numbers(1, image % options.items * wide, wide) for image in range(first, first + count)])
    whole = (own * (8 - options.likeness) + shared * options.likeness).astype(numpy.float64)
    return (whole / numpy.sqrt((whole * whole).sum(axis=1, keepdims=True))).astype(numpy.float32)


def without_itself(found, first):
    """The first k of k + 1 columns that are not the query's own number."""
    keep = found != numpy.arange(first, first + len(found))[:, None]
    keep[keep.all(axis=1), -1] = False
    return found[keep].reshape(len(found), -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=PUBLISHED_IMAGES)
    parser.add_argument("--items", type=int, default=0, help="0: as many images per item as published")
    parser.add_argument("--dimensions", type=int, default=6144)
    parser.add_argument("--k", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=0, help="search only the first; 0: all images")
    parser.add_argument("--metric", choices=["l2", "ip"], default="l2")
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--likeness", type=int, default=0)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    options.items = options.items or options.images * PUBLISHED_ITEMS // PUBLISHED_IMAGES
    options.queries = options.queries or options.images
    if options.threads:
        faiss.omp_set_num_threads(options.threads)

    before = peak_mib()
    index = faiss.IndexFlatL2(options.dimensions) if options.metric == "l2" else faiss.IndexFlatIP(options.dimensions)
    index_seconds = 0
    for first in range(0, options.images, 64):
        block = vectors(options, first, min(64, options.images - first))
        start = time.perf_counter()
        index.add(block)
        index_seconds += time.perf_counter() - start
    with_index = peak_mib()

    held = faiss.rev_swig_ptr(index.get_xb(), options.images * options.dimensions).reshape(options.images, -1)
    item = numpy.arange(options.images) % options.items
    lone = numpy.bincount(item, minlength=options.items)[item] < 2
    recall_at = [k for k in (1, 10, 100, 1000) if k < options.k] + [options.k]
    hits = dict.fromkeys(recall_at, 0)
    search_seconds = 0
    for first in range(0, options.queries, options.batch):
        queries = held[first:min(first + options.batch, options.queries)]
        start = time.perf_counter()
        _, found = index.search(queries, options.k + 1)
        search_seconds += time.perf_counter() - start
        for at in range(0, len(found), 64):  # so that counting needs little memory
            others = without_itself(found[at:at + 64], first + at)
            same = item[others] == item[first + at:first + at + len(others), None]
            for k in recall_at:
                hits[k] += int(same[:, :k].any(axis=1).sum())
        del found
    recall = " ".join(f"recall_at_{k}={hits[k] / (~lone[:options.queries]).sum():.8g}" for k in recall_at)
    print(f"leave_one_out seconds={index_seconds + search_seconds:.3f} index_seconds={index_seconds:.3f} "
          f"search_seconds={search_seconds:.3f} "
          f"before_mib={before:.0f} index_peak_mib={with_index:.0f} peak_mib={peak_mib():.0f} "
          f"images={options.images} queries={options.queries} items={options.items} dimensions={options.dimensions} k={options.k} "
          f"metric={options.metric} batch={options.batch} likeness={options.likeness} "
          f"threads={faiss.omp_get_max_threads()} {recall}")


main()
