import { join } from "node:path";
import { expect, it } from "vitest";
import { listRuns } from "../../src/results/files/run-folder.js";
import { callCli, playRuns } from "../helpers/in-process.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

/** `pinbench baseline` of six runs on a machine that has these speeds, one run after the other. */
async function baselineAt(...speed: number[]) {
  const documents = buildRuns({ cells: [{ GBps: 50 }, { GBps: 12, memory: "pageable" }], speed });
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
  const finished = await callCli(["baseline", "main", ...sweep, "--runs", "6"], { cwd });
  return { ...finished, runs: (await listRuns(join(cwd, "main"))).length };
}

it("a baseline that meets a slow run measures another one, keeps both and says so", async () => {
  const { exitCode, stderr, runs } = await baselineAt(1, 1, 0.5, 1, 1, 1, 1);
  expect({ exitCode, runs }).toEqual({ exitCode: 0, runs: 7 });
  expect(stderr).toBe("pinbench: 1 run of these was far slower than the others: 1 more run is measured.\n");
});

it("a baseline whose further run is slow as well measures one more, half as many again at most", async () => {
  expect((await baselineAt(1, 1, 0.5, 1, 1, 1, 0.5, 1)).runs).toBe(8);
  expect((await baselineAt(1, 1, 0.5, 1, 1, 1, ...Array(9).fill(0.5))).runs).toBe(9);
});

it("a baseline without slow runs has as many as were asked for", async () => {
  expect(await baselineAt(1, 1.01, 0.99, 1, 1, 1)).toMatchObject({ runs: 6, stderr: "" });
});
