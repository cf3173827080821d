"""TurboLoader, doing what input_loader.py does, in threads of one process.

    python input_turboloader.py FOLDER [--threads 2] [--batch 96] [--images 2880]

TurboLoader decodes and batches. Its RandomAffine scales both axes alike and fills the border with a colour, and its fused
loader does not take affine maps, so the augmentation is OpenCV's in MapDataLoader, which its documentation recommends for
whatever the fused loader does not do.
"""

import pathlib

import turboloader

from pictures import augmented, measure


class Pictures:
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, position):
        encoded = pathlib.Path(self.files[position]).read_bytes()
        return augmented(turboloader.decode_jpeg(encoded), position)


def batches_of(files, threads, size):
    return turboloader.MapDataLoader(Pictures(files), batch_size=size, num_workers=threads)


measure(__doc__, batches_of)
