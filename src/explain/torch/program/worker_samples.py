"""Samples that keep a worker busy: `pinbench explain too-many-workers` has `tune` load them."""

import zlib

import torch
from torch.utils.data import Dataset

_BYTES = 3 * 64 * 64
# Unpacking takes about as long as decoding a small picture.
_PACKED_BYTES = 512 << 10


class Samples(Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(1)
        noise = torch.randint(0, 16, (_PACKED_BYTES,), dtype=torch.uint8, generator=generator)
        self._packed = zlib.compress(bytes(noise.tolist()), 1)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        unpacked = bytearray(zlib.decompress(self._packed))
        picture = torch.frombuffer(unpacked, dtype=torch.uint8)[:_BYTES]
        return (picture.view(3, 64, 64).float() - 8.0) / 8.0


def samples():
    return Samples()
