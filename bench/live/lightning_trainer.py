"""Lightning's Trainer: ResNet-50 on a folder of JPEGs, with a validation after each epoch."""

import lightning
import torch
from images import image_folder, make_model, make_optimizer
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset
from training_run import TrainingRun, flags, loader_settings


class Classifier(lightning.LightningModule):
    def __init__(self, tiny, classes):
        super().__init__()
        self.model = make_model(tiny, classes)

    def training_step(self, batch, _index):
        images, labels = batch
        return cross_entropy(self.model(images.contiguous(memory_format=torch.channels_last)), labels)

    def validation_step(self, batch, _index):
        images, labels = batch
        self.log("validation_loss", cross_entropy(self.model(images), labels))

    def configure_optimizers(self):
        return make_optimizer(self.model)


class Accounting(lightning.Callback):
    """Ends the training when it has run for long enough."""

    def __init__(self, run):
        self.run = run

    def on_train_epoch_start(self, trainer, module):
        self.run.begin_epoch()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        if not self.run.step(outputs["loss"]):
            trainer.should_stop = True

    def on_train_epoch_end(self, trainer, module):
        if not trainer.should_stop:
            self.run.end_epoch()


def main():
    arguments = flags(__doc__).parse_args()
    lightning.seed_everything(0, verbose=False)
    data = image_folder(arguments.data, arguments.tiny)
    loader = DataLoader(data, arguments.batch_size, shuffle=True, drop_last=True, **loader_settings(arguments))
    held_out = Subset(data, range(0, len(data), max(1, len(data) // (10 * arguments.batch_size))))
    validation = DataLoader(held_out, arguments.batch_size, num_workers=2)

    run = TrainingRun(arguments)
    trainer = lightning.Trainer(
        max_epochs=-1,
        devices=1,
        precision="bf16-mixed" if torch.cuda.is_available() else "32",
        callbacks=[Accounting(run)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(arguments.tiny, len(data.classes)), loader, validation)
    run.print_account()


if __name__ == "__main__":
    main()
