"""NVIDIA DALI on the CPU, doing what input_loader.py does.

    python input_dali.py FOLDER [--threads 2] [--batch 96] [--images 2880]
"""

from nvidia.dali import fn, pipeline_def, types

from pictures import SIDE, measure


def batches_of(files, threads, size):
    @pipeline_def(batch_size=size, num_threads=threads, device_id=None)
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
    for _ in range(len(files) // size):
        yield pipeline.run()[0]


measure(__doc__, batches_of)
