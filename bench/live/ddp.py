"""The plain loop under torchrun: DistributedDataParallel, and a DistributedSampler with set_epoch()."""

import itertools
import os

import torch
import torch.distributed as dist
from images import image_folder, make_model, make_optimizer, to_device, train_step
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from training_run import TrainingRun, flags, loader_settings


def main():
    arguments = flags(__doc__).parse_args()
    on_gpus = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpus else "gloo")
    device = torch.device("cpu")
    if on_gpus:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    data = image_folder(arguments.data, arguments.tiny)
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, arguments.batch_size, sampler=sampler, drop_last=True, **loader_settings(arguments))
    model = make_model(arguments.tiny, len(data.classes)).to(device)
    model = DistributedDataParallel(model, device_ids=[device] if on_gpus else None)
    optimizer = make_optimizer(model)

    run = TrainingRun(arguments)
    try:
        for epoch in itertools.count():
            sampler.set_epoch(epoch)
            run.begin_epoch()
            for images, labels in loader:
                images, labels = to_device(images, labels, device)
                loss = train_step(model, optimizer, images, labels)
                if not run.step(loss):
                    run.print_account()
                    return
            run.end_epoch()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
