"""PyTorch's DataLoader with OpenCV in its workers: the common way to feed a model.

    python input_loader.py FOLDER [--threads 2] [--batch 96] [--images 2880]

Decode, resize, one affine map, flip, brightness, floats [N,3,256,256]. Each thread is a worker process.
Prints `input images_per_second=...`, without the time that the workers need to start.
"""

import cv2
import torch
from torch.utils.data import DataLoader, Dataset

from pictures import augmented, measure


class Pictures(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, position):
        picture = cv2.imread(self.files[position], cv2.IMREAD_COLOR)
        return torch.from_numpy(augmented(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), position))


def one_thread(_):
    cv2.setNumThreads(1)
    torch.set_num_threads(1)


def batches_of(files, threads, size):
    return DataLoader(Pictures(files), size, num_workers=threads, worker_init_fn=one_thread, prefetch_factor=4)


measure(__doc__, batches_of)
