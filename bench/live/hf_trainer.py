"""The Trainer of transformers: a small BERT classifies texts that the data set alters and tokenises."""

import os
import random
import tempfile

# Workers are forks of this process and would lack the tokenizer's threads.
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.utils.data import Dataset
from training_run import TrainingRun, flags
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

CLASSES = 4
VOCABULARY = 16_000
TOKENS = 256


class Texts(Dataset):
    """Texts of 300 to 500 words. Each access leaves out, swaps and misspells other words."""

    def __init__(self, samples):
        self.samples = samples
        draw = random.Random(0)
        self.words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 10)))
                      for _ in range(VOCABULARY)]
        self.tokenizer = make_tokenizer(self.words)
        self.texts = [self._make_text(draw, number % CLASSES) for number in range(4000)]

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        label, text = self.texts[index % len(self.texts)]
        encoded = self.tokenizer(changed(text), truncation=True, max_length=TOKENS, padding="max_length")
        return {
            "input_ids": torch.tensor(encoded["input_ids"]),
            "attention_mask": torch.tensor(encoded["attention_mask"]),
            "labels": label,
        }

    def _make_text(self, draw, label):
        share = len(self.words) // CLASSES
        typical = self.words[label * share : (label + 1) * share]
        return label, " ".join(
            draw.choice(typical if draw.random() < 0.3 else self.words) for _ in range(draw.randint(300, 500))
        )


def changed(text):
    words = []
    for word in text.split():
        chance = random.random()
        if chance < 0.1:
            continue
        if chance < 0.2 and words:
            words.insert(random.randrange(len(words)), word)
        elif chance < 0.3:
            letters = list(word)
            random.shuffle(letters)
            words.append("".join(letters))
        else:
            words.append(word)
    return " ".join(words)


def make_tokenizer(words):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = list("abcdefghijklmnopqrstuvwxyz")
    pieces = special + letters + ["##" + letter for letter in letters] + words
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )


class AccountingTrainer(Trainer):
    """Keeps the loss, which Trainer's callbacks do not see."""

    def training_step(self, model, inputs, *others):
        self.last_loss = super().training_step(model, inputs, *others)
        return self.last_loss


class Accounting(TrainerCallback):
    """Ends the training when it has run for long enough."""

    def __init__(self, run):
        self.run = run
        self.trainer = None

    def on_epoch_begin(self, arguments, state, control, **_others):
        self.run.begin_epoch()

    def on_step_end(self, arguments, state, control, **_others):
        if not self.run.step(self.trainer.last_loss):
            control.should_training_stop = True

    def on_epoch_end(self, arguments, state, control, **_others):
        if not control.should_training_stop:
            self.run.end_epoch()


def make_model(tiny, vocabulary):
    size = {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048}
    if tiny:
        size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    return BertForSequenceClassification(
        BertConfig(vocab_size=vocabulary, max_position_embeddings=TOKENS, num_labels=CLASSES, **size)
    )


def main():
    parser = flags(__doc__)
    parser.add_argument("--epoch-batches", type=int, default=1000)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    data = Texts(arguments.epoch_batches * arguments.batch_size)
    run = TrainingRun(arguments)
    accounting = Accounting(run)
    on_gpu = torch.cuda.is_available()
    with tempfile.TemporaryDirectory() as folder:
        trainer = AccountingTrainer(
            model=make_model(arguments.tiny, len(data.tokenizer)),
            args=TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=arguments.batch_size,
                num_train_epochs=1000,
                learning_rate=1e-4,
                bf16=on_gpu,
                use_cpu=not on_gpu,
                dataloader_num_workers=arguments.num_workers,
                dataloader_pin_memory=arguments.pin_memory,
                dataloader_prefetch_factor=arguments.prefetch_factor if arguments.num_workers > 0 else None,
                dataloader_persistent_workers=arguments.persistent_workers and arguments.num_workers > 0,
                dataloader_drop_last=True,
                logging_steps=50,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                seed=0,
            ),
            train_dataset=data,
            callbacks=[accounting],
        )
        accounting.trainer = trainer
        trainer.train()
    run.print_account()


if __name__ == "__main__":
    main()
