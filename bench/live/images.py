"""Shared by the scripts that train on the folder of JPEGs: the data set, the model, and the step."""

import torch
from torch.nn.functional import cross_entropy
from torchvision import models, transforms
from torchvision.datasets import ImageFolder


def image_folder(folder, tiny):
    size = 32 if tiny else 224
    return ImageFolder(folder, transforms.Compose([
        transforms.RandomResizedCrop(size),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]))


def make_model(tiny, classes):
    """A ResNet-50 with random weights."""
    torch.backends.cudnn.benchmark = True
    model = (models.resnet18 if tiny else models.resnet50)(num_classes=classes)
    return model.to(memory_format=torch.channels_last)


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


def train_step(model, optimizer, images, labels):
    """Returns the loss, still on the device."""
    with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=images.is_cuda):
        loss = cross_entropy(model(images), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss


def to_device(images, labels, device):
    images = images.to(device, non_blocking=True, memory_format=torch.channels_last)
    return images, labels.to(device, non_blocking=True)
