import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { NativeSession } from "../../src/native/contract.js";
import { parseResult } from "../../src/results/parse.js";
import { describeMoment, randomMoment, strikeAt, type Way, ways } from "../helpers/killing.js";
import { markName, nextMark, processesWith } from "../helpers/processes.js";
import { pinbench } from "../helpers/run-cli.js";
import { seeded } from "../helpers/seeded.js";
import { backendName, isEmulated, openTestBackend } from "./backend.js";
import { MiB, openTestSession } from "./session.js";

/** How long the driver may take to give back what a killed process had. */
const goneMs = 30_000;

const place = mkdtempSync(join(tmpdir(), "pinbench-kill-"));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
/** Each of them once, for each command: some two seconds a kill. */
const possible = ways.filter(({ needsTerminal }) => hasPython || !needsTerminal);
/** A session of this process, which only looks at the device's memory. */
let session: NativeSession;
beforeAll(async () => {
  // The emulated device has memory that several processes share where a file counts it.
  if (isEmulated) process.env.PINBENCH_EMULATED_SHARED = join(place, "device-memory");
  session = await openTestSession(await openTestBackend());
});
afterAll(async () => {
  await session.close();
  rmSync(place, { recursive: true, force: true });
});

const sweep = ["--sizes", "1MiB,16MiB", "--memory", "pageable,pinned,registered,mapped", "--workers", "1,2"];
const flags = ["--backend", backendName, "--budget", "2s", "--precision", "0.0001%"];

describe.each([
  { name: "run", kind: "thread", seed: 1 },
  { name: "run --worker-kind process", kind: "process", seed: 2 },
])("$name that is killed", ({ kind, seed }) => {
  const { uniform } = seeded(seed);

  /** Its end, and what it has left in its folder; waits for the device to be as it was before. */
  async function killed(way: Way | null, durationMs: number) {
    const cwd = mkdtempSync(join(place, "run-"));
    const moment = randomMoment(uniform);
    const mark = nextMark();
    const { freeBytes } = session.memoryInfo();
    const finished = await strikeAt({
      command: [
        process.execPath,
        pinbench,
        "run",
        ...sweep,
        ...flags,
        "--worker-kind",
        kind,
        "--output",
        "result.json",
      ],
      cwd,
      env: {
        [markName]: mark,
        ...(isEmulated && { PINBENCH_EMULATED_SHARED: process.env.PINBENCH_EMULATED_SHARED! }),
      },
      way,
      moment,
      durationMs,
      watched: [cwd],
      onStrike: () => undefined,
    });
    const what = `${way?.name ?? "nothing"} ${describeMoment(moment)}`;
    await vi.waitFor(() => expect(processesWith(mark), what).toEqual([]), { timeout: goneMs, interval: 50 });
    await vi.waitFor(
      // The driver keeps its own memory in steps of this size.
      () => expect(session.memoryInfo().freeBytes, what).toBeGreaterThan(freeBytes - 2 * MiB),
      { timeout: goneMs, interval: 50 },
    );
    return { finished, files: readdirSync(cwd), cwd, what };
  }

  it("leaves no process and no memory on the device, and a whole file or none", {
    timeout: 200_000,
  }, async () => {
    const startedMs = performance.now();
    const whole = await killed(null, 0);
    expect(whole.finished?.exitCode, whole.finished?.stderr).toBe(0);
    const durationMs = performance.now() - startedMs;
    for (const way of possible) {
      const { finished, files, cwd, what } = await killed(way, durationMs);
      const end = finished?.exitCode ?? finished?.signal;
      expect([0, ...way.ends], `${what}: ${finished?.stderr}`).toContain(end);
      if (!way.isHard)
        expect(
          files.filter((name) => name !== "result.json"),
          what,
        ).toEqual([]);
      if (files.includes("result.json")) parseResult(readFileSync(join(cwd, "result.json"), "utf8"));
    }
  });
});
