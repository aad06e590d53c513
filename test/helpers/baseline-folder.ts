import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Comparison, comparisonSchema } from "../../src/compare/comparison.js";
import { createRuns } from "../../src/results/files/run-folder.js";
import type { DeviceRecord, ResultDocument } from "../../src/results/schema.js";
import { callCliAlone } from "./in-process.js";
import { type Finished, measureSmall, memoryLink, temporaryFolder } from "./run-cli.js";
import { buildRuns, documentAtSpeed, type RunsPart } from "./runs.js";

/** Relative speeds that no noise hides, nor another link: a check against them has only one verdict. */
export const certainly = { slower: 100, faster: 0.001 } as const;

/** The cells of the small sweep, one for each direction. */
const twoCells = ["--memory", "pinned"];

/** The run from which a test file's baselines are made; measured once. */
let measured: ReturnType<typeof measureSmall> | undefined;

/**
 * A baseline of five similar runs from this machine's emulated device, as if it had been `speed` times
 * as fast. `change` is applied to each document.
 */
export async function baselineAt(
  speed: number,
  change: (document: ResultDocument) => ResultDocument = (document) => document,
): Promise<string> {
  measured ??= measureSmall(twoCells, memoryLink);
  const { document } = await measured;
  return baselineOf(document, speed, change);
}

/** A baseline of five runs like this one, at this many times its speed. */
export async function baselineOf(
  document: ResultDocument,
  speed = 1,
  change: (document: ResultDocument) => ResultDocument = (one) => one,
): Promise<string> {
  const folder = join(temporaryFolder(), "baseline");
  const runs = [1, 1.001, 0.999, 1.002, 0.998].map((noise, run) =>
    change({ ...documentAtSpeed(document, speed * noise), run: { ...document.run, id: `run-${run}` } }),
  );
  await createRuns(
    folder,
    runs.map((run) => JSON.stringify(run)),
  );
  return folder;
}

/** A document of the emulated device, as if it came from the second one while that was the only visible one. */
export function asOfSecondDevice({ devices, fingerprint, ...document }: ResultDocument): ResultDocument {
  const [device] = devices as [DeviceRecord];
  const name = device.name.replace(/0$/, "1");
  return {
    ...document,
    devices: [{ ...device, name, uuid: device.uuid!.replace(/0$/, "1") }],
    fingerprint: { ...fingerprint, gpu: name },
  };
}

/** All of a folder's files, to check that none was changed. */
export function filesIn(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
}

/** Writes documents, or any text, as a.json, b.json and so on. */
export function writeRuns(folder: string, runs: readonly (ResultDocument | string)[]): string[] {
  return runs.map((run, i) => {
    const path = join(folder, `${String.fromCharCode(97 + i)}.json`);
    writeFileSync(path, typeof run === "string" ? run : JSON.stringify(run));
    return path;
  });
}

/** `pinbench check` of three runs, with its comparison as JSON. */
export async function checkJson(
  baseline: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Finished & { comparison: Comparison }> {
  const check = ["check", "--baseline", baseline, "--runs", "3", "--json", ...args];
  const finished = await callCliAlone(check, { env: { ...memoryLink, ...env } });
  return { ...finished, comparison: comparisonSchema.parse(JSON.parse(finished.stdout)) };
}

/** Requires one sentence with its hint on one line of stderr, and no other output. */
export function expectSentence({ exitCode, stdout, stderr }: Finished, code: number, sentence: RegExp): void {
  expect(stderr).toMatch(sentence);
  expect(stderr).toMatch(/^pinbench: [^\n]+[.?]\n$/);
  expect(stderr).not.toMatch(/\bat [^\n]*:\d+:\d+/);
  expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: "" });
}

/** The cells of the runs of sides(). */
export const sidesCells = [{ GBps: 50 }, { GBps: 10, memory: "registered" }] as const;

/** A folder with the runs of a machine in before/ and of the candidate in after/. */
export function sides(after: RunsPart, before: RunsPart = {}): string {
  const cwd = temporaryFolder();
  for (const [name, part] of Object.entries({ before, after: { seed: 2, ...after } })) {
    mkdirSync(join(cwd, name));
    writeRuns(join(cwd, name), buildRuns({ cells: sidesCells, ...part }));
  }
  return cwd;
}
