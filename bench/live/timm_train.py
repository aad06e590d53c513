"""timm's data set, loader (which normalises on the GPU) and ResNet-50, on a folder of JPEGs."""

import itertools

import timm
import torch
from images import make_optimizer, train_step
from timm.data import create_dataset, create_loader
from training_run import TrainingRun, flags


def main():
    arguments = flags(__doc__, persistent_workers=True).parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = create_dataset("", arguments.data, is_training=True)
    loader = create_loader(
        data,
        input_size=(3, 32, 32) if arguments.tiny else (3, 224, 224),
        batch_size=arguments.batch_size,
        is_training=True,
        num_workers=arguments.num_workers,
        pin_memory=arguments.pin_memory,
        persistent_workers=arguments.persistent_workers,
        device=device,
    )
    if arguments.num_workers > 0:
        # create_loader has no such argument; its DataLoader does.
        loader.loader.prefetch_factor = arguments.prefetch_factor
    classes = len(data.reader.class_to_idx)
    model = timm.create_model("resnet18" if arguments.tiny else "resnet50", num_classes=classes)
    model = model.to(device, memory_format=torch.channels_last)
    optimizer = make_optimizer(model)

    run = TrainingRun(arguments)
    for _epoch in itertools.count():
        run.begin_epoch()
        for images, labels in loader:
            images = images.contiguous(memory_format=torch.channels_last)
            loss = train_step(model, optimizer, images, labels)
            if not run.step(loss):
                run.print_account()
                return
        run.end_epoch()


if __name__ == "__main__":
    main()
