import { describe, expect, it } from "vitest";
import { given } from "./opened.js";
import { type Changes, skipWithoutTorch, target } from "./support.js";

/* How a data set is named that is no plain name of a file, and what is said where nothing of the name is there. */

skipWithoutTorch();

const named = target("named.py");

describe("a data set is found", () => {
  const lightning = { preparedToFit: 40 + "prepare_data".length + "fit".length };
  it.each(
    (
      [
        ["as an entry of a dict", 'splits["train"]', 4],
        ["by a key in single quotes", "splits['train']", 4],
        ["by a key that a shell took the quotes of", "splits[train]", 4],
        ["by a key with a colon", 'splits["a:b"]', 3],
        ["by a number", "splits[0]", 5],
        ["by a key that reads like a number", 'splits["1"]', 7],
        ["by a key that reads like a number, without quotes", "splits[1]", 7],
        ["in what a function returns", 'make_splits["train"]', 4],
        ["in a tuple that a function returns", "make_pair[0]", 6],
        ["in a list, from its end", "make_list[-1]", 2],
        ["as an attribute", "holder.train", 8],
        ["as what a method returns", "holder.make", 8],
        ["as what a LightningModule's method returns", "model.train_dataloader", 6],
        ["in what a method returns", "holder.in_parts[all]", 8],
        ["as an attribute of an object that is made of a class", "Holder.train", 8],
      ] as [how: string, name: string, samples: number, changes?: Changes][]
    ).map(
      ([how, name, samples, changes]) =>
        [how, name, samples, given(`named.py:${name}`, { batchSize: 1, ...changes })] as const,
    ),
  )("%s: %s", (_how, _name, samples, answer) => {
    expect(answer()).toMatchObject({ refusal: null, facts: { epochBatches: samples } });
  });

  it.each(
    (
      [
        ["of an object", "module.train_dataloader", lightning.preparedToFit],
        ["of a class", "Module.train_dataloader", lightning.preparedToFit],
        ["for validation", "module.val_dataloader", 40 + "prepare_data".length + "validate".length],
        ["as a data set", "Module.samples", lightning.preparedToFit],
        [
          "by the first rank alone",
          "Module.train_dataloader",
          40 + "fit".length,
          { rank: { index: 1, count: 2 } },
        ],
      ] as [how: string, name: string, samples: number, changes?: Changes][]
    ).map(
      ([how, name, samples, changes]) =>
        [how, name, samples, given(`named.py:${name}`, { batchSize: 1, ...changes })] as const,
    ),
  )("in a LightningDataModule, which is set up as by a Trainer: %s, %s", (_how, _name, samples, answer) => {
    expect(answer()).toMatchObject({ refusal: null, facts: { epochBatches: samples } });
  });
});

describe("suggests another name for", () => {
  const loaders = `Name what is in it: ${named}:module.train_dataloader or ${named}:module.val_dataloader.`;
  it.each(
    (
      [
        ["module", "is Module, which is neither a Dataset nor a DataLoader.", loaders],
        ["Module", "makes Module, which is neither", loaders.replaceAll(":module", ":Module")],
        [
          "hub",
          "is DatasetDict, which is neither",
          `Name what is in it: '${named}:hub["train"]' or '${named}:hub["test"]'.`,
        ],
        [
          "make_quoted",
          "returned dict, which is neither",
          `Name what is in it: '${named}:make_quoted["it'\\''s"]'.`,
        ],
        [
          "make_pair",
          "returned tuple, which is neither",
          `Name what is in it: '${named}:make_pair[0]' or '${named}:make_pair[1]'.`,
        ],
        ["holder", "is Holder, which is neither", `Name what is in it: ${named}:holder.train.`],
        [
          "empty",
          "is Empty, which is neither",
          "Name a Dataset, a DataLoader, or a function that returns one of them.",
        ],
        ["make_nothing", "returned nothing.", "It must return a Dataset or a DataLoader."],
        ['hub["trian"]', 'has no entry ["trian"].', /^Name what is in it: .*hub\["train"\]' or /],
        ["make_numbers[train]", "has no entry [train].", null],
        ["model", "is Model, which is neither", `Name what is in it: ${named}:model.train_dataloader.`],
        ["model[train]", "is Model, which has no entries such as [train].", /:model\.train_dataloader\.$/],
        ["module[train]", "is Module, which has no entries such as [train].", loaders],
        ["make_numbers.train", "make_numbers has no 'train'.", null],
        ["BATCH[0]", "BATCH is int, which has no entries such as [0].", null],
        ["holder.failing", "holder.failing failed: ValueError: not now (", null],
        [
          "RefusingModule.train_dataloader",
          "RefusingModule cannot be set up: RuntimeError: no network (",
          null,
        ],
        [
          "make_numbers()",
          "'make_numbers()' names nothing in",
          "Leave out the parentheses: what can be called is called, without arguments.",
        ],
        ["make-numbers", "'make-numbers' names nothing in", 'Write NAME, NAME.ATTRIBUTE or NAME["KEY"].'],
        ["", "does not say where the data set is.", /such as .*named\.py:make_dataset, or a module/],
      ] as [name: string, message: string, hint: string | RegExp | null][]
    ).map(
      ([name, message, hint]) => [name, message, hint, given(`named.py:${name}`, { batchSize: 1 })] as const,
    ),
  )("%s", (_name, message, hint, answer) => {
    const { refusal, hint: said } = answer();
    expect(refusal?.[1]).toContain(message);
    if (hint === null) expect(said).toBeNull();
    else expect(said).toMatch(hint);
  });
});
