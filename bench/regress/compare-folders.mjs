// Measures how long `pinbench compare` of two folders takes.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../../dist/stats/order-statistics.js";
import { inRoot } from "../../scripts/lib/project.mjs";
import { seededRandom } from "../lib/random.mjs";

export const runsOfFolder = 30;
const turns = 5;

const measured =
  "run --backend emulated --no-config --sizes 64KiB,1MiB,16MiB --workers 1,4 --budget 3s --json --quiet";

/** Median seconds of each pinbench (given by folder) for comparing the same two folders. */
export function timeFolders(folders) {
  const scratch = mkdtempSync(join(tmpdir(), "pinbench-folders-"));
  try {
    const paths = ["baseline", "candidate"].map((name) => join(scratch, name));
    writeRuns(paths);
    const seconds = folders.map(() => []);
    for (let turn = 0; turn < turns; ++turn) {
      for (const [i, folder] of folders.entries()) {
        const beganMs = performance.now();
        const { status, stderr } = start(folder, ["compare", ...paths, "--no-config", "--json"]);
        seconds[i].push((performance.now() - beganMs) / 1e3);
        if (status > 1) throw new Error(stderr);
      }
    }
    return seconds.map(median);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function start(folder, args) {
  const options = { encoding: "utf8", maxBuffer: 1e9 };
  return spawnSync(process.execPath, [join(folder, "bin/pinbench.js"), ...args], options);
}

/** Writes runs that differ from a measured one by 1 % at most. */
function writeRuns(folders) {
  const { stdout } = start(inRoot("."), measured.split(" "));
  const random = seededRandom(1);
  for (const [side, folder] of folders.entries()) {
    mkdirSync(folder);
    for (let run = 0; run < runsOfFolder; ++run) {
      const document = JSON.parse(stdout);
      const { run: facts } = document;
      facts.id = `${facts.id.slice(0, -3)}${String(side * runsOfFolder + run).padStart(3, "0")}`;
      facts.startedAt = new Date(Date.parse(facts.startedAt) + (side * 24 * 60 + run) * 60e3).toISOString();
      for (const { bandwidthGBps } of document.cells.flatMap(({ stats }) => stats)) {
        const factor = 1 + 0.02 * (random() - 0.5);
        for (const key of ["median", "low", "high"]) bandwidthGBps[key] *= factor;
      }
      writeFileSync(join(folder, `run-${String(run).padStart(2, "0")}.json`), JSON.stringify(document));
    }
  }
}
