"""SPDL, doing what input_loader.py does, in threads of one process.

    python input_spdl.py FOLDER [--threads 2] [--batch 96] [--images 2880]

SPDL decodes and resizes. Its filters, which are FFmpeg's, do not have a bilinear affine map with random parameters per
picture, so the augmentation is OpenCV's, as a step of the pipeline: SPDL's documentation recommends functions that release
Python's global lock.
"""

import sys

import numpy
import spdl.io
import spdl.io.utils
from spdl.pipeline import PipelineBuilder

from pictures import SIDE, augmented, measure

try:
    spdl.io.utils.get_ffmpeg_versions()
except RuntimeError as error:
    print(error, file=sys.stderr)
    sys.exit("spdl_io needs FFmpeg's shared libraries, including libavdevice; the package ffmpeg installs them")

RGB = spdl.io.get_video_filter_desc(scale_width=SIDE, scale_height=SIDE, scale_algo="bilinear", scale_mode=None)


def read(numbered):
    position, file = numbered
    return augmented(spdl.io.to_numpy(spdl.io.load_image(file, filter_desc=RGB)), position)


def batches_of(files, threads, size):
    pipeline = (PipelineBuilder().add_source(enumerate(files))
                .pipe(read, concurrency=threads, output_order="input").aggregate(size).pipe(numpy.stack)
                .add_sink(2).build(num_threads=threads, max_failures=0))
    with pipeline.auto_stop():
        yield from pipeline


measure(__doc__, batches_of)
