import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { writtenFiles } from "../../../src/tune/live/written-files.js";

it("files that a command has made or changed are found in its folder and in those that it names", () => {
  const root = mkdtempSync(join(tmpdir(), "pinbench-written-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [cwd, out, foreign] = ["work", "out", "foreign"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [cwd, out, foreign, join(cwd, "__pycache__"), join(cwd, "runs")]) mkdirSync(folder);
  const old = new Date(Date.now() - 3600e3);
  for (const path of ["work/data.csv", "work/old.pt"]) {
    writeFileSync(join(root, path), "");
    utimesSync(join(root, path), old, old);
  }
  const since = Date.now() - 60e3;
  for (const path of [
    "work/log.txt",
    "work/runs/last.ckpt",
    "work/__pycache__/a.pyc",
    "out/checkpoint-5",
    "foreign/x",
  ]) {
    writeFileSync(join(root, path), "");
  }
  const found = writtenFiles(["python", "train.py", `--out=${out}`, "-v"], since, cwd);
  expect(found.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual([
    { path: join(out, "checkpoint-5"), isNewCheckpoint: true },
    { path: "log.txt", isNewCheckpoint: false },
    { path: "runs/last.ckpt", isNewCheckpoint: true },
  ]);
});
