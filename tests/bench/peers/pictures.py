"""Shared by both input peers: files and augmentation."""

import pathlib

import numpy

SIDE = 256


def files_of(folder, count):
    """`count` JPEG files in sorted order, repeated from the first if there are fewer."""
    found = sorted(str(path) for path in pathlib.Path(folder).rglob("*.jpg"))
    if not found:
        raise SystemExit(f"no .jpg files in {folder}")
    return [found[i % len(found)] for i in range(count)]


def random_map(random):
    """2x3 matrix from output to input pixels: rotation, shift, shear, zoom about the centre."""
    angle, shear = numpy.deg2rad([random.uniform(-30, 30), random.uniform(-0.1, 0.1)])
    shift = random.uniform(-0.2, 0.2, 2) * SIDE
    zoom = random.uniform(0.9, 1.1, 2)
    turn = numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
    slant = numpy.array([[1, -numpy.sin(shear)], [0, numpy.cos(shear)]])
    linear = turn @ slant @ numpy.diag(zoom)
    middle = numpy.full(2, (SIDE - 1) / 2)
    return numpy.column_stack([linear, turn @ shift + middle - linear @ middle])
