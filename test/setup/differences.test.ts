import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
// @ts-expect-error A script without types.
import { differences } from "../../scripts/lib/differences.mjs";

/** What `npm run same` prints of two folders with these outputs. */
function printed(before: Record<string, string>, after: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-differences-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [side, outputs] of Object.entries({ before, after }))
    for (const [name, text] of Object.entries({ "run/same": "it\n", ...outputs })) {
      mkdirSync(dirname(join(folder, side, name)), { recursive: true });
      writeFileSync(join(folder, side, name), text);
    }
  return differences({ before: join(folder, "before"), after: join(folder, "after") });
}

const rates = (...figures: number[]) =>
  Object.fromEntries(figures.map((figure, i) => [`run/${i}`, `a\n${figure} GB/s\nb\n`]));

type Outputs = Record<string, string>;

it.each<[string, Outputs, Outputs, string[]]>([
  ["prints nothing if nothing differs", rates(1), rates(1), []],
  [
    "prints equal differences once, with the number of outputs",
    rates(1, 1, 1),
    rates(2, 2, 2),
    ["", "== 3 outputs: run/0, …", "-1 GB/s", "+2 GB/s", "", "3 of 4 outputs differ."],
  ],
  [
    "prints only three differences that differ in nothing but figures",
    rates(1, 2, 3, 4),
    rates(2, 3, 4, 5),
    [
      ...["", "== 1 output: run/0", "-1 GB/s", "+2 GB/s", "", "== 1 output: run/1", "-2 GB/s", "+3 GB/s"],
      ...["", "== 1 output: run/2", "-3 GB/s", "+4 GB/s"],
      ...["== and, with other figures alone, 1 output: run/3", "", "4 of 5 outputs differ."],
    ],
  ],
  [
    "lists a command line that one side refuses, and an input that one side has, without their texts",
    { "commands/run%20--plot": "exit code 0\nx\n", "run/old": "x\n" },
    { "commands/run%20--plot": "exit code 2\ny\n", "run/new": "y\n" },
    ["gone: run/old", "gone: commands/run --plot", "new: run/new", "", "3 of 4 outputs differ."],
  ],
])("npm run same %s", (_, before, after, expected) => {
  expect(printed(before, after)).toEqual(expected);
});
