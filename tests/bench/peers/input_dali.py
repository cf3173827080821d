"""NVIDIA DALI on the CPU, doing what input_loader.py does.

    python input_dali.py FOLDER [--threads 2] [--batch 96] [--images 2880]
"""

import argparse
import time

from nvidia.dali import fn, pipeline_def, types

from pictures import SIDE, files_of


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--images", type=int, default=2880)
    options = parser.parse_args()
    files = files_of(options.folder, options.images)

    @pipeline_def(batch_size=options.batch, num_threads=options.threads, device_id=None)
    def pictures():
        def between(least, most, **shape):
            return fn.random.uniform(range=[least, most], **shape)

        middle = [SIDE / 2, SIDE / 2]
        encoded, _ = fn.readers.file(files=files, labels=[0] * len(files))
        picture = fn.resize(fn.decoders.image(encoded, device="cpu", output_type=types.RGB),
                            size=[SIDE, SIDE])
        affine = fn.transforms.rotation(angle=between(-30.0, 30.0), center=middle)
        affine = fn.transforms.translation(affine, offset=between(-0.2 * SIDE, 0.2 * SIDE, shape=[2]))
        affine = fn.transforms.shear(affine, angles=between(-0.1, 0.1, shape=[2]), center=middle)
        affine = fn.transforms.scale(affine, scale=between(0.9, 1.1, shape=[2]), center=middle)
        picture = fn.warp_affine(picture, matrix=affine, interp_type=types.INTERP_LINEAR)
        return fn.crop_mirror_normalize(picture * between(0.5, 1.5), dtype=types.FLOAT,
                                        output_layout="CHW", mirror=fn.random.coin_flip(),
                                        std=[255.0, 255.0, 255.0])

    pipeline = pictures()
    pipeline.build()
    pipeline.run()
    batches = len(files) // options.batch - 1
    start = time.perf_counter()
    for _ in range(batches):
        pipeline.run()
    print(f"input images_per_second={batches * options.batch / (time.perf_counter() - start):.0f} "
          f"threads={options.threads} batch={options.batch}")


main()
