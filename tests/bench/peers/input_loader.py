"""PyTorch's DataLoader with OpenCV in its workers: the common way to feed a model.

    python input_loader.py FOLDER [--workers 2] [--batch 96] [--images 2880]

Decode, resize, one affine map, flip, brightness, floats [N,3,256,256].
Prints `input images_per_second=...`, without the time that the workers need to start.
"""

import argparse
import time

import cv2
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from pictures import SIDE, files_of, random_map


class Pictures(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, position):
        random = numpy.random.default_rng(position)
        picture = cv2.imread(self.files[position], cv2.IMREAD_COLOR)
        picture = cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)
        if picture.shape != (SIDE, SIDE, 3):
            picture = cv2.resize(picture, (SIDE, SIDE))
        picture = cv2.warpAffine(picture, random_map(random), (SIDE, SIDE),
                                 flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                                 borderMode=cv2.BORDER_REPLICATE)
        if random.random() < 0.5:
            picture = cv2.flip(picture, 1)
        bright = picture.astype(numpy.float32) * numpy.float32(random.uniform(0.5, 1.5) / 255)
        numpy.minimum(bright, 1, out=bright)
        return torch.from_numpy(bright.transpose(2, 0, 1).copy())


def one_thread(_):
    cv2.setNumThreads(1)
    torch.set_num_threads(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--images", type=int, default=2880)
    options = parser.parse_args()
    loader = DataLoader(Pictures(files_of(options.folder, options.images)), options.batch,
                        num_workers=options.workers, worker_init_fn=one_thread, prefetch_factor=4)
    images, start = 0, None
    for batch in loader:
        if start is None:
            start = time.perf_counter()
        else:
            images += len(batch)
    print(f"input images_per_second={images / (time.perf_counter() - start):.0f} "
          f"workers={options.workers} batch={options.batch}")


main()
