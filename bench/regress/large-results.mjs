// Time and memory of `pinbench compare` for two results of 1 000 cells with 1 000 samples each.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { jsonReport } from "../../dist/draw/json.js";
import { watchProcess } from "../lib/watch-process.mjs";
import { largeResult } from "./large-result.mjs";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));

export async function largeResults({ cells, samples, random }) {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-large-"));
  try {
    const paths = ["baseline.json", "candidate.json"].map((name) => join(folder, name));
    let bytes = 0;
    for (const path of paths) {
      const text = jsonReport(largeResult({ cells, samples, random }));
      bytes += text.length;
      writeFileSync(path, text);
    }
    const measured = await watchProcess(process.execPath, [
      cli,
      "compare",
      ...paths,
      "--no-config",
      "--json",
    ]);
    if (JSON.parse(measured.stdout).cells.length !== cells) throw new Error("not all cells were compared");
    return { exitCode: measured.exitCode, seconds: measured.seconds, peakBytes: measured.peakBytes, bytes };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
