import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { historyPath } from "../../src/results/files/history-file.js";
import type { HistoryEntry, HistoryFigure } from "../../src/results/history-entry.js";
import { frozen } from "./frozen.js";
import { temporaryFolder } from "./run-cli.js";
import { seeded } from "./seeded.js";

/** Builds checks of the past by parts: each part has sensible defaults, and a test sets only what matters to it. */

export const pinnedId = "d0/h2d/pinned/16777216/w1/throughput/cold";

export function buildFigure(part: Partial<HistoryFigure> = {}): HistoryFigure {
  return { id: pinnedId, moved: "h2d", unit: "GB/s", figure: 55.4, runs: 5, ...part };
}

/** The check of the day `day`, from 0. */
export function buildEntry(day: number, part: Partial<HistoryEntry> = {}): HistoryEntry {
  return frozen({
    schemaVersion: 1,
    kind: "check",
    id: `check-${day}`,
    startedAt: new Date(Date.UTC(2026, 0, 1 + day, 5)).toISOString(),
    version: "0.1.0",
    outcome: "pass",
    backend: "cuda",
    fingerprint: { backend: "cuda", gpu: "NVIDIA H200", driver: "580.159.04", kernel: "6.1.0-28-amd64" },
    machine: { hostName: ["node-1"], gpuUuids: ["GPU-6f1c2a54"], pciAddresses: ["0000:00:06.0"] },
    series: [buildFigure()],
    ...part,
  });
}

export interface TrendPart {
  checks?: number;
  /** Relative changes, by their first check. */
  steps?: Readonly<Record<number, number>>;
  /** Standard deviation of a check's figure, as a share of it. */
  noise?: number;
  seed?: number;
}

/** Factors of a figure, one for each check. */
export function buildTrend({ checks = 60, steps = {}, noise = 0.002, seed = 1 }: TrendPart): number[] {
  const { normals } = seeded(seed);
  let level = 0;
  return normals(checks).map((z, check) => {
    level += Math.log1p(steps[check] ?? 0);
    return Math.exp(level + noise * z);
  });
}

/** A folder whose history has these lines, which may be any texts. */
export function historyFolder(lines: readonly (HistoryEntry | string)[]): string {
  const folder = join(temporaryFolder(), "history");
  mkdirSync(folder);
  const texts = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  writeFileSync(historyPath(folder), texts.join(""));
  return folder;
}
