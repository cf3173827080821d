"""Shared by the peers of the input benchmark: files, augmentation and clock."""

import argparse
import pathlib
import time

import cv2
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


def augmented(picture, position):
    """An RGB picture after OpenCV's resize, one affine map, flip and brightness, as floats [3,SIDE,SIDE]. The position in
    the list of files is the seed."""
    random = numpy.random.default_rng(position)
    if picture.shape != (SIDE, SIDE, 3):
        picture = cv2.resize(picture, (SIDE, SIDE))
    picture = cv2.warpAffine(picture, random_map(random), (SIDE, SIDE), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                             borderMode=cv2.BORDER_REPLICATE)
    if random.random() < 0.5:
        picture = cv2.flip(picture, 1)
    bright = picture.astype(numpy.float32) * numpy.float32(random.uniform(0.5, 1.5) / 255)
    numpy.minimum(bright, 1, out=bright)
    return bright.transpose(2, 0, 1).copy()


def measure(description, batches_of):
    """Prints `input images_per_second=...` for the batches of `batches_of(files, threads, size)`, without the first one,
    which waits until threads or processes have started."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--images", type=int, default=2880)
    options = parser.parse_args()
    cv2.setNumThreads(1)  # in each of the threads
    images, start = 0, None
    for batch in batches_of(files_of(options.folder, options.images), options.threads, options.batch):
        if start is None:
            start = time.perf_counter()
        images += len(batch)
    seconds = time.perf_counter() - start
    if images != options.images:
        raise SystemExit(f"{images} of {options.images} pictures arrived")
    print(f"input images_per_second={(images - options.batch) / seconds:.0f} threads={options.threads} batch={options.batch}")
