import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { writtenFiles } from "../../../src/tune/live/written-files.js";

/** A folder with these files, of which a name with "old" is an hour old; links are pairs of a path and a target. */
function tree(files: readonly string[], links: readonly (readonly [string, string])[] = []): string {
  const root = mkdtempSync(join(tmpdir(), "pinbench-written-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const old = new Date(Date.now() - 3600e3);
  for (const file of files) {
    const path = join(root, file);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "");
    if (file.includes("old")) utimesSync(path, old, old);
  }
  for (const [path, target] of links) symlinkSync(target, join(root, path));
  return root;
}

/** The files found, checkpoints with a star, for a command that names the folder out. */
function found(root: string, limit?: number): string[] {
  const command = ["python", "train.py", `--out=${join(root, "out")}`, "-v"];
  const files = writtenFiles(command, Date.now() - 60e3, join(root, "work"), limit);
  return files.map(({ path, isCheckpoint }) => path.replace(root, "") + (isCheckpoint ? "*" : "")).sort();
}

it("files that a command has made or changed are found in its folder and in those that it names", () => {
  const files = ["work/log.txt", "work/runs/last.ckpt", "work/__pycache__/a.pyc", "out/checkpoint-5"];
  const root = tree([...files, "work/train.py.old", "work/old.pt", "foreign/x"]);
  expect(found(root)).toEqual(["/out/checkpoint-5*", "log.txt", "runs/last.ckpt*"]);
});

it.each([
  ["model.pt", true],
  ["model.pth.tar", true],
  ["model.pt.tar", true],
  ["model.safetensors", true],
  ["Checkpoint_3", true],
  ["data.tar", false],
  ["log.txt", false],
])("%s is a checkpoint: %j", (name, isCheckpoint) => {
  expect(found(tree([`work/${name}`]))).toEqual([isCheckpoint ? `${name}*` : name]);
});

it("a checkpoint that was there before is one if it was changed", () => {
  const root = tree(["work/old.pt"]);
  const sinceMs = Date.now() + 60e3;
  utimesSync(join(root, "work/old.pt"), sinceMs / 1e3 + 1, sinceMs / 1e3 + 1);
  expect(writtenFiles([], sinceMs, join(root, "work"))).toEqual([{ path: "old.pt", isCheckpoint: true }]);
});

it("links are followed, to each folder once", () => {
  const links = [
    ["work/runs", "../elsewhere"],
    ["work/again", "."],
    ["work/itself", "itself"],
    ["work/nowhere", "gone"],
    ["elsewhere/up", "../work"],
    ["work/same", "../out"],
  ] as const;
  const root = tree(["work/log.txt", "elsewhere/last.pt", "out/a.pt"], links);
  expect(found(root)).toEqual(["log.txt", "runs/last.pt*", "same/a.pt*"]);
});

it("a data set in the working folder hides neither a checkpoint beside it nor one in a folder of the command", () => {
  const data = Array.from({ length: 20 }, (_, i) => `work/data/deep/${i}.old`);
  const root = tree([...data, "work/runs/last.pt", "out/a.pt"]);
  expect(found(root, 8)).toEqual(["/out/a.pt*", "runs/last.pt*"]);
});
