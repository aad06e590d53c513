"""A plain training loop: ResNet-50 on a folder of JPEGs."""

import itertools

import torch
from images import image_folder, make_model, make_optimizer, to_device, train_step
from torch.utils.data import DataLoader
from training_run import TrainingRun, flags, loader_settings


def main():
    arguments = flags(__doc__).parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = image_folder(arguments.data, arguments.tiny)
    loader = DataLoader(data, arguments.batch_size, shuffle=True, drop_last=True, **loader_settings(arguments))
    model = make_model(arguments.tiny, len(data.classes)).to(device)
    optimizer = make_optimizer(model)

    run = TrainingRun(arguments)
    for _epoch in itertools.count():
        run.begin_epoch()
        for images, labels in loader:
            images, labels = to_device(images, labels, device)
            loss = train_step(model, optimizer, images, labels)
            if not run.step(loss):
                run.print_account()
                return
        run.end_epoch()


if __name__ == "__main__":
    main()
