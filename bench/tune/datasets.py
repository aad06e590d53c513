"""Data sets for the benchmark of `pinbench tune`, named like `bench/tune/datasets.py:cheap_sample`.

Each function makes a map-style Dataset of (tensor, label) with torch alone: no NumPy, no images, no downloads. Equal
arguments give equal data in every process. They are meant for batches of 64.
"""

import math
import os
import random
from pathlib import Path

import torch
from torch.nn.functional import interpolate
from torch.utils.data import Dataset

IMAGE = (3, 224, 224)
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

# torch splits operations of 32 768 elements and more over threads. Decoders and PIL do not, so their stand-ins here
# work on strips of rows below that size: a sample then costs the same in the main process as in a worker. Collating is
# unchanged, and uses all threads in the main process.
STRIP_ROWS = 32


def cheap_sample(length=65_536, stored=256):
    """Ready-made floats: a sample is a view, so all work is collating and copying (38.5 MB a batch)."""
    return StoredFloats(length, stored)


def uint8_to_float_sample(length=65_536, stored=512):
    """A uint8 image cropped from a store, as float32, normalised."""
    return StoredImages(length, stored, jitter=False)


def heavier_sample(length=65_536, stored=512):
    """The same, with brightness and contrast changed before normalising."""
    return StoredImages(length, stored, jitter=True)


def tiny_text(length=262_144, tokens=256):
    """Token ids, made from a text in pure Python: batches of 132 KB, which show the loader's own cost."""
    return TinyText(length, tokens)


def jpeg_files(files=2_000):
    """Files of 60 to 180 KB, read whole and "decoded". They are made on first use under $PINBENCH_BENCH_FOLDER, take
    240 MB for 2 000, and stay there. At first they are in the page cache."""
    folder = os.environ.get("PINBENCH_BENCH_FOLDER")
    if not folder:
        raise ValueError("jpeg_files needs a folder: set PINBENCH_BENCH_FOLDER")
    return JpegFiles(make_files(Path(folder), files))


class StoredFloats(Dataset):
    def __init__(self, length, stored):
        self.length = length
        self.store = torch.rand(stored, *IMAGE, generator=seeded())

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        in_range(index, self.length)
        return self.store[index % len(self.store)], index % 1000


class StoredImages(Dataset):
    """Images as a decoder returns them: 256 x 256, channels last."""

    def __init__(self, length, stored, jitter):
        self.length = length
        self.jitter = jitter
        self.store = torch.randint(256, (stored, 256, 256, 3), dtype=torch.uint8, generator=seeded())

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        in_range(index, self.length)
        # Seeded by the index, so that a sample is the same in every process.
        draw = random.Random(index)
        top, left = draw.randrange(33), draw.randrange(33)
        image = self.store[index % len(self.store), top : top + 224, left : left + 224]
        strips = []
        for strip in image.split(STRIP_ROWS):
            values = strip.permute(2, 0, 1).float() / 255
            if self.jitter:
                values.sub_(0.5).mul_(1.2).add_(0.6).clamp_(0, 1)
            strips.append((values - MEAN) / STD)
        return torch.cat(strips, 1), index % 1000


class TinyText(Dataset):
    def __init__(self, length, tokens):
        self.length = length
        self.tokens = tokens
        draw = random.Random(0)
        words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 10))) for _ in range(20_000)]
        self.texts = [" ".join(draw.choices(words, k=draw.randint(100, 250))) for _ in range(2_000)]
        # Id 0 pads, id 1 is a word outside the vocabulary.
        self.ids = {word: number for number, word in enumerate(words[:16_000], 2)}

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        in_range(index, self.length)
        words = self.texts[index % len(self.texts)].split()
        tokens = [self.ids.get(word, 1) for word in words[: self.tokens]]
        tokens.extend([0] * (self.tokens - len(tokens)))
        return torch.tensor(tokens), index % 2


class JpegFiles(Dataset):
    """Stands in for a folder of JPEG files: each byte becomes four values, like a 500 x 375 photograph in 120 KB, and
    these are resized. An epoch is one pass over the files."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb", buffering=0) as file:
            content = bytearray(os.fstat(file.fileno()).st_size)
            file.readinto(content)
        side = math.isqrt(len(content) // 3)
        planes = torch.frombuffer(content, dtype=torch.uint8)[: 3 * side * side].view(1, 3, side, side)
        strips = []
        for strip in planes.tensor_split(28, dim=2):
            pixels = interpolate(strip.float(), scale_factor=2, mode="bilinear", align_corners=False)
            resized = interpolate(pixels, size=(8, 224), mode="bilinear", align_corners=False, antialias=True)
            strips.append((resized[0] / 255 - MEAN) / STD)
        return torch.cat(strips, 1), index % 1000


def make_files(folder, count):
    """Writes missing files only, so that a second run is quick."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [str(folder / f"{number:05}.jpg") for number in range(count)]
    for number, path in enumerate(paths):
        if os.path.exists(path):
            continue
        draw = random.Random(number)
        # Renamed when complete, because another process may make or read the same files.
        part = f"{path}.{os.getpid()}"
        Path(part).write_bytes(draw.randbytes(draw.randint(60_000, 180_000)))
        os.replace(part, path)
    return paths


def seeded():
    return torch.Generator().manual_seed(0)


def in_range(index, length):
    """Without this error, iterating over a Dataset without a DataLoader never ends."""
    if not 0 <= index < length:
        raise IndexError(index)
