"""The programs that bench/trace.mjs traces. The last line of each prints what it copied, known by construction:
{"seconds": of its loop, "copies": [[direction, memory, bytes, count]], "pinning": calls that pin}.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

import torch

MIB = 1 << 20
# Labels of 48 images differ in size from every parameter of the model.
BATCH = (48, 3, 224, 224)
BATCH_BYTES = 4 * 48 * 3 * 224 * 224
LABELS_BYTES = 8 * 48
STEPS = 60


def show(seconds, copies, pinning=None):
    print(json.dumps({"seconds": seconds, "copies": copies, "pinning": pinning}), flush=True)


def timed(function):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    function()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def training(pin_memory, steps=STEPS):
    """A ResNet-18 on decoded images in memory."""
    from torch.nn.functional import cross_entropy
    from torchvision.models import resnet18

    images = [torch.randn(BATCH) for _ in range(8)]
    labels = [torch.randint(1000, (48,)) for _ in range(8)]
    if pin_memory:
        images = [image.pin_memory() for image in images]
    model = resnet18().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(index):
        image = images[index % 8].to("cuda", non_blocking=True)
        loss = cross_entropy(model(image), labels[index % 8].to("cuda", non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for index in range(5):
        step(index)
    seconds = timed(lambda: [step(index) for index in range(steps)])
    memory = "pinned" if pin_memory else "pageable"
    show(seconds, [["h2d", memory, BATCH_BYTES, steps + 5], ["h2d", "pageable", LABELS_BYTES, steps + 5]])


def copies(memory):
    """Only copies: here the gain of the fixed script is known best."""
    tensors = [torch.ones(16 * MIB) for _ in range(8)]
    if memory == "pinned":
        tensors = [tensor.pin_memory() for tensor in tensors]
    torch.ones(1).pin_memory().to("cuda")
    seconds = timed(lambda: [tensors[index % 8].to("cuda", non_blocking=True) for index in range(STEPS)])
    show(seconds, [["h2d", memory, 64 * MIB, STEPS]])


def pinning_in_the_loop():
    """Pins tensors of different sizes one after the other, like batches of text."""
    def step(index):
        tensor = torch.ones((16 + index) * MIB // 4).pin_memory()
        tensor.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        kept.append(tensor)

    kept = []
    torch.ones(1, device="cuda")
    seconds = timed(lambda: [step(index) for index in range(20)])
    show(seconds, [["h2d", "pinned", (16 + index) * MIB, 1] for index in range(20)], 20)


def item_each_step():
    values = torch.rand(1000, device="cuda")
    torch.cuda.synchronize()
    seconds = timed(lambda: [value.item() for value in values])
    # This torch version reads single values through pinned memory.
    show(seconds, [["d2h", "pinned", 4, 1000]])


def mapped_weights():
    """A safetensors file of 16 tensors of 64 MiB, mapped by torch."""
    header = {}
    for index in range(16):
        offsets = [index * 64 * MIB, (index + 1) * 64 * MIB]
        header[f"layer.{index}"] = {"dtype": "F32", "shape": [16 * MIB], "data_offsets": offsets}
    text = json.dumps(header).encode()
    with tempfile.NamedTemporaryFile(suffix=".safetensors", dir=os.environ.get("TRACE_FOLDER")) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _ in range(16):
            file.write(bytes(64 * MIB))
        file.flush()
        start = 8 + len(text)
        whole = torch.from_file(file.name, size=start + 1024 * MIB, dtype=torch.uint8)
        tensors = [whole[start + index * 64 * MIB:][: 64 * MIB] for index in range(16)]
        torch.ones(1, device="cuda")
        seconds = timed(lambda: [tensor.to("cuda") for tensor in tensors])
    show(seconds, [["h2d", "pageable", 64 * MIB, 16]])


def rank():
    """For torchrun: each rank makes one more copy than the rank before."""
    number = int(os.environ["RANK"])
    torch.cuda.set_device(number % torch.cuda.device_count())
    tensor = torch.ones(4 * MIB)
    seconds = timed(lambda: [tensor.cuda() for _ in range(10 + number)])
    if number == 0:
        show(seconds, [["h2d", "pageable", 16 * MIB, 21]])


def killed():
    tensor = torch.ones(4 * MIB)
    for _ in range(10):
        tensor.cuda()
    torch.cuda.synchronize()
    time.sleep(3)
    show(0, [["h2d", "pageable", 16 * MIB, 10]])
    os.kill(os.getpid(), signal.SIGKILL)


def forked():
    """Loader workers fork from a process with CUDA; a separate program uses CUDA too."""
    from torch.utils.data import DataLoader, TensorDataset

    rows = TensorDataset(torch.ones(64, MIB))
    torch.ones(1, device="cuda")
    loader = DataLoader(rows, batch_size=4, num_workers=2)
    seconds = timed(lambda: [rows.cuda() for (rows,) in loader])
    subprocess.run([sys.executable, __file__, "child"], check=True, stdout=subprocess.DEVNULL)
    show(seconds, [["h2d", "pageable", 16 * MIB, 16 + 7]])


def child():
    tensor = torch.ones(4 * MIB)
    seconds = timed(lambda: [tensor.cuda() for _ in range(7)])
    show(seconds, [["h2d", "pageable", 16 * MIB, 7]])


def profiler():
    from torch.profiler import profile

    tensor = torch.ones(4 * MIB)
    for _ in range(10):
        tensor.cuda()
    torch.cuda.synchronize()
    time.sleep(2)
    with profile() as seen:
        for _ in range(10):
            tensor.cuda()
        torch.cuda.synchronize()
    has_copies = any("Memcpy HtoD" in event.key for event in seen.key_averages())
    show(0, [["h2d", "pageable", 16 * MIB, 10]] if has_copies else [["torch.profiler saw none", "", 0, 1]])


def ranges():
    tensor = torch.ones(4 * MIB)
    with torch.cuda.nvtx.range("outer"):
        tensor.cuda()
        with torch.cuda.nvtx.range("inner"):
            for _ in range(3):
                tensor.cuda()
    show(0, [["h2d", "pageable", 16 * MIB, 4]])


def no_gpu():
    show(0, [])


programs = {
    "training": lambda: training(False),
    "training-pinned": lambda: training(True),
    "copies": lambda: copies("pageable"),
    "copies-pinned": lambda: copies("pinned"),
    "pinning": pinning_in_the_loop,
    "item": item_each_step,
    "mapped": mapped_weights,
    "speed": lambda: training(True, 600),
    **{one.__name__: one for one in (rank, killed, forked, child, profiler, ranges)},
    "no-gpu": no_gpu,
}

if __name__ == "__main__":
    programs[sys.argv[1]]()
