import { join } from "node:path";
import { expect, it } from "vitest";
import { listRuns } from "../../src/results/files/run-folder.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { callCli, playRuns } from "../helpers/in-process.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

/** `pinbench baseline` of six runs, unless another number is given, on a machine that has these speeds, one run after the other. */
const baselineAt = (...speed: number[]) =>
  baselineOf(buildRuns({ cells: [{ GBps: 50 }, { GBps: 12, memory: "pageable" }], speed }));

/** The same of these runs. */
async function baselineOf(documents: readonly ResultDocument[], asked = 6) {
  playRuns(async function* (_, runs) {
    for (let run = 0; run < runs; ++run) {
      yield { kind: "start", run };
      yield { kind: "result", run, document: documents[run]! };
    }
  });
  const cwd = temporaryFolder();
  const sweep = [
    "--backend",
    "emulated",
    "--llc",
    "1MiB",
    "--sizes",
    "64KiB",
    "--memory",
    "pinned",
    "--workers",
    "1",
  ];
  const finished = await callCli(["baseline", "main", ...sweep, "--runs", `${asked}`], { cwd });
  return { ...finished, runs: (await listRuns(join(cwd, "main"))).length };
}

it("a baseline that meets a slow run measures another one, keeps both and says so", async () => {
  const { exitCode, stderr, runs } = await baselineAt(1, 1, 0.5, 1, 1, 1, 1);
  expect({ exitCode, runs }).toEqual({ exitCode: 0, runs: 7 });
  expect(stderr).toBe("pinbench: 1 run of these was far slower than the others: 1 more run is measured.\n");
});

it("a baseline that meets two slow runs measures two more", async () => {
  const { stderr, runs } = await baselineAt(1, 0.5, 1, 0.5, 1, 1, 1, 1);
  expect(runs).toBe(8);
  expect(stderr).toBe(
    "pinbench: 2 runs of these were far slower than the others: 2 more runs are measured.\n",
  );
});

it("a baseline says once which other programs used which device in any of its runs", async () => {
  const other = (pid: number, name: string, wasThereBefore: boolean) =>
    ({ kind: "program", pid, name, since: null, deviceMemoryBytes: null, wasThereBefore }) as const;
  const quiet = { activityBefore: null, unseen: [] };
  const used = [
    [
      { device: 0, others: [], ...quiet },
      { device: 2, others: [other(7, "python3", true)], ...quiet },
    ],
    [
      { device: 0, others: [other(9, "blender", false)], ...quiet },
      { device: 2, others: [other(7, "python3", true)], ...quiet },
    ],
  ];
  const documents = buildRuns({ cells: [{ GBps: 50 }], speed: 1, count: 6 }).map((document, i) => ({
    ...document,
    run: { ...document.run, sharing: used[i] ?? [] },
  }));
  const { stderr, runs } = await baselineOf(documents);
  expect(runs).toBe(6);
  expect(stderr.split("\n")).toEqual([
    "pinbench: in these runs device 0 was not measured alone: blender (pid 9) started during the run.",
    "pinbench: in these runs device 2 was not measured alone: python3 (pid 7) used it as well.",
    "",
  ]);
});

it("a baseline whose further run is slow as well measures one more, half as many again at most", async () => {
  expect((await baselineAt(1, 1, 0.5, 1, 1, 1, 0.5, 1)).runs).toBe(8);
  expect((await baselineAt(1, 1, 0.5, 1, 1, 1, ...Array(9).fill(0.5))).runs).toBe(9);
  const slowAgain = buildRuns({ cells: [{ GBps: 50 }], speed: [1, 1, 0.5, 1, 1, ...Array(4).fill(0.5)] });
  expect((await baselineOf(slowAgain, 5)).runs).toBe(8);
});

it("a baseline without slow runs has as many as were asked for", async () => {
  expect(await baselineAt(1, 1.01, 0.99, 1, 1, 1)).toMatchObject({ runs: 6, stderr: "" });
});
