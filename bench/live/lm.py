"""A small GPT-like language model on a file of tokens; samples are packed in Python."""

import itertools
import os
import random
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.utils.data import DataLoader, Dataset
from training_run import TrainingRun, flags, loader_settings

VOCABULARY = 16_384
END_OF_TEXT = 0
FIRST_OF_SPAN, LAST_OF_SPAN = 1, 2
STORED_TOKENS = 20_000_000
LONGEST_TEXT = 2048
# Texts drawn per sequence; the best-fitting ones are packed.
CANDIDATES = 16


def token_file(folder, stored):
    """Writes the file on first use: texts with word frequencies of a natural language (Zipf)."""
    path = Path(folder) / f"tokens-{stored}.bin"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draw = numpy.random.default_rng(0)
        tokens = (draw.zipf(1.2, stored) % (VOCABULARY - 3) + 3).astype(numpy.uint16)
        tokens[draw.random(stored) < 1 / 400] = END_OF_TEXT
        part = path.with_suffix(f".{os.getpid()}")
        tokens.tofile(part)
        part.rename(path)
    return path


class PackedTexts(Dataset):
    """Sequences of whole texts from random positions of the file. A middle part of each text is moved to its end."""

    def __init__(self, path, sequence, samples):
        self.path = path
        self.sequence = sequence
        self.samples = samples
        self.tokens = None

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        if self.tokens is None:
            self.tokens = numpy.memmap(self.path, dtype=numpy.uint16, mode="r")
        left = [self._random_text() for _ in range(CANDIDATES)]
        packed = []
        while left and len(packed) <= self.sequence:
            room = self.sequence + 1 - len(packed)
            # The longest text that fits; if none fits, the shortest is cut.
            fitting = [text for text in left if len(text) <= room]
            best = max(fitting, key=len) if fitting else min(left, key=len)
            left.remove(best)
            packed.extend(best)
        packed.extend([END_OF_TEXT] * (self.sequence + 1 - len(packed)))
        return torch.tensor(packed[: self.sequence + 1])

    def _random_text(self):
        start = random.randrange(len(self.tokens) - LONGEST_TEXT)
        text = []
        is_inside = False
        for token in self.tokens[start : start + LONGEST_TEXT].tolist():
            if token == END_OF_TEXT:
                if is_inside:
                    break
                is_inside = True
            elif is_inside and random.random() > 0.02:
                text.append(token)
        return [*middle_last(text), END_OF_TEXT]


def middle_last(text):
    if len(text) < 8:
        return text
    first, last = sorted(random.sample(range(len(text)), 2))
    return text[:first] + [FIRST_OF_SPAN] + text[last:] + [LAST_OF_SPAN] + text[first:last]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, values):
        batch, length, width = values.shape
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.project(self.before_attention(values)).chunk(3, -1)
        )
        attended = scaled_dot_product_attention(query, key, value, is_causal=True)
        values = values + self.join(attended.transpose(1, 2).reshape(batch, length, width))
        return values + self.feed_forward(values)


class LanguageModel(nn.Module):
    def __init__(self, layers, width, sequence):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(sequence, width)
        self.blocks = nn.Sequential(*(Block(width, max(1, width // 64)) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens):
        values = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        return self.head(self.norm(self.blocks(values)))


def main():
    parser = flags(__doc__, batch_size=16)
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--epoch-batches", type=int, default=1000)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    path = token_file(arguments.data, STORED_TOKENS // 20 if arguments.tiny else STORED_TOKENS)
    data = PackedTexts(path, arguments.sequence, arguments.epoch_batches * arguments.batch_size)
    loader = DataLoader(data, arguments.batch_size, shuffle=True, drop_last=True, **loader_settings(arguments))
    layers, width = (1, 32) if arguments.tiny else (8, 512)
    model = LanguageModel(layers, width, arguments.sequence).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    run = TrainingRun(arguments)
    for _epoch in itertools.count():
        run.begin_epoch()
        for tokens in loader:
            tokens = tokens.to(device, non_blocking=True)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                logits = model(tokens[:, :-1])
                loss = cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if not run.step(loss):
                run.print_account()
                return
        run.end_epoch()


if __name__ == "__main__":
    main()
