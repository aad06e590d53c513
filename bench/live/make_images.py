"""Makes a folder of JPEGs as ImageFolder reads them: `make_images.py FOLDER [--files 4000] [--names 16]`.

The files are about 500 x 375 with random smooth content. The colours depend on the class so that there is something
to learn. Each has --names names (hard links), so that an epoch is long and the disk is not full. A folder that
was made with the same arguments is left unchanged.
"""

import argparse
import json
import os
import shutil
from multiprocessing import Pool
from pathlib import Path

import numpy
from PIL import Image

CLASSES = 4
QUALITY = 90


def smooth(draw, columns, rows, size, amplitude):
    """Random values of a coarse grid, resized to all pixels."""
    coarse = Image.fromarray(draw.integers(0, 256, (rows, columns, 3), dtype=numpy.uint8))
    pixels = numpy.asarray(coarse.resize(size, Image.Resampling.BICUBIC), dtype=numpy.float32)
    return (pixels - 127.5) / 127.5 * amplitude


def make_image(draw, category):
    size = (int(draw.integers(480, 521)), int(draw.integers(360, 391)))
    colour = numpy.array([category & 1, category >> 1, 0.5]) * 40.0 + 108.0
    pixels = colour + smooth(draw, 8, 6, size, 60) + smooth(draw, 125, 94, size, 40)
    pixels += draw.normal(0, 6, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def make_file(task):
    folder, number, names = task
    draw = numpy.random.default_rng(number)
    # Classes differ in size, so that the sum of labels shows which samples were used.
    category = min(int(draw.integers(0, CLASSES)), int(draw.integers(0, CLASSES)))
    stem = Path(folder) / f"class_{category}"
    first = stem / f"{number:05}_00.jpg"
    make_image(draw, category).save(first, quality=QUALITY)
    for name in range(1, names):
        os.link(first, stem / f"{number:05}_{name:02}.jpg")
    return first.stat().st_size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--names", type=int, default=16)
    arguments = parser.parse_args()
    recipe = json.dumps({"files": arguments.files, "names": arguments.names})
    recipe_file = arguments.folder / "recipe.json"
    if recipe_file.exists() and recipe_file.read_text() == recipe:
        return
    if arguments.folder.exists():
        shutil.rmtree(arguments.folder)
    for category in range(CLASSES):
        (arguments.folder / f"class_{category}").mkdir(parents=True)
    tasks = [(str(arguments.folder), number, arguments.names) for number in range(arguments.files)]
    with Pool(len(os.sched_getaffinity(0))) as pool:
        sizes = pool.map(make_file, tasks, chunksize=16)
    # Written last: a folder without it is incomplete.
    recipe_file.write_text(recipe)
    print(f"{len(sizes)} JPEGs of {sum(sizes) / len(sizes) / 1e3:.0f} kB on average")


if __name__ == "__main__":
    main()
