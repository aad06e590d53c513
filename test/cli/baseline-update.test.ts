import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { updateBaseline } from "../../src/cli/baseline-update.js";
import type { Comparison } from "../../src/compare/comparison.js";
import { readBegunRuns, readResultSet } from "../../src/compare/result-set.js";
import { createRuns, listRuns } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { baselineOf, filesIn } from "../helpers/baseline-folder.js";
import { buildCellComparison, buildComparison, buildGroup } from "../helpers/comparison.js";
import { callCli, callCliAlone, playRuns } from "../helpers/in-process.js";
import { measureSmall, memoryLink, temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns, compareRuns, documentAtSpeed } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

const { normal } = seeded(24);

/** Five runs of a day, a minute apart, of a machine of this speed. */
function runsAt(speed: number, day: number): ResultDocument[] {
  const cells = [1, 2, 4, 8].map((workers) => ({ GBps: 50, workers }));
  return buildRuns({ cells, speed, seed: day + 1, count: 5 }).map((document, i) => ({
    ...document,
    run: {
      ...document.run,
      id: `${day}-${i}`,
      startedAt: new Date(Date.UTC(2026, 10, 1 + day, 5, i)).toISOString(),
    },
  }));
}

const newBaseline = async (runs: readonly ResultDocument[]) => {
  const folder = join(temporaryFolder(), "baseline");
  await createRuns(
    folder,
    runs.map((run) => JSON.stringify(run)),
  );
  return folder;
};
const documentsOf = async (paths: readonly string[]) =>
  paths.map((path) => parseResult(readFileSync(path, "utf8"), path));

/** A loss of 4.3 % is within it, and two of them are not. */
const rule = { thresholds: { ...defaultThresholds, default: 0.05 } };

/** A check --update on a day, as the command does it: what it prints, and the exit code that it changes to. */
async function updateOn(day: number, speed: number, folder: string) {
  const runs = runsAt(speed, day);
  const baseline = await readResultSet(folder, "baseline");
  const before = await documentsOf(await listRuns(folder));
  const begun = await readBegunRuns(folder);
  const begunDocuments = await documentsOf((begun?.runs ?? []).map(({ path }) => path!));
  const notes: string[] = [];
  const exitCode = await updateBaseline(
    {
      ...{ path: folder, baseline, texts: runs.map((run) => JSON.stringify(run)) },
      comparison: compareRuns(before, runs, { command: "check", rule }),
      sinceBegun: begun === null ? null : compareRuns(begunDocuments, runs, { rule }),
    },
    (text) => notes.push(text),
  );
  return { exitCode, text: notes.join("\n").replaceAll(folder, "main") };
}

describe("the level that a baseline began with", () => {
  it("stays through updates that lose nothing", async () => {
    const folder = await newBaseline(runsAt(1, 0));
    for (const day of [1, 2, 3]) expect((await updateOn(day, 1, folder)).text).toMatch(/^main now holds/);
    expect((await readBegunRuns(folder))?.runs.map(({ id }) => id)).toEqual(
      runsAt(1, 0).map(({ run }) => run.id),
    );
    const next = await updateOn(5, 1, folder);
    expect(next.text).toMatch(/^main now holds .* H2D pinned is 0\.\d % (above|below) its first level\.$/);
    expect((await updateOn(6, 0.957, folder)).exitCode).toBe(0);
    expect((await updateOn(7, 0.957 ** 2, folder)).exitCode).toBe(1);
  });
});

describe("what an update says of the level", () => {
  const folderWith = async (comparison: Comparison, sinceBegun: Comparison | null = null) => {
    const folder = await newBaseline(runsAt(1, 0));
    const baseline = await readResultSet(folder, "baseline");
    const notes: string[] = [];
    const update = { path: folder, baseline, comparison, sinceBegun, texts: ["{}", "{}"] };
    const exitCode = await updateBaseline(update, (text) => notes.push(text));
    return { exitCode, text: notes.join("\n").replaceAll(folder, "main") };
  };
  /** Kinds of copies on two devices, and latencies of two sizes by themselves, none of them slower. */
  const levels = (changes: readonly number[]) => {
    const kinds = [0, 1].flatMap((device) =>
      (["pageable", "pinned"] as const).map((memory) =>
        buildCellComparison({ device, memory, direction: "d2h" }),
      ),
    );
    const alone = [4096, 8192].map((sizeBytes, i) =>
      buildCellComparison({ mode: "latency", baseline: 10, sizeBytes, change: changes[kinds.length + i]! }),
    );
    const groups = kinds.map((cell, i) => buildGroup([cell], { change: changes[i]! }));
    return buildComparison({ cells: [...kinds, ...alone], groups });
  };

  it("is the change of each kind of copies on each device, and of the speed of latencies: the largest loss first", async () => {
    const { exitCode, text } = await folderWith(levels([-0.011, 0.02, -0.03, 0.004, 0.25, -0.2]));
    expect(exitCode).toBe(0);
    expect(text).toBe(
      "main now holds the 2 runs of this check, in place of 5 runs. d0 H2D pinned 4 KiB x1 latency is 20.0 % below its first level, " +
        "GPU 1 D2H pageable 3.0 % below, GPU 0 D2H pageable 1.1 % below, GPU 1 D2H pinned 0.4 % above, " +
        "GPU 0 D2H pinned 2.0 % above and d0 H2D pinned 8 KiB x1 latency 25.0 % above.",
    );
  });

  it.each<[string, Comparison, Comparison | null, string]>([
    [
      "a GPU of the baseline is not there",
      buildComparison({
        differences: [
          { fact: "number of GPUs", baseline: "2", candidate: "1", blocks: false, isOverruled: false },
        ],
      }),
      null,
      "a GPU is missing",
    ],
    [
      "it is another machine than at first",
      buildComparison({}),
      buildComparison({ outcome: "not comparable" }),
      "against its first level, this is another machine, and --allow-mismatch was not given",
    ],
    [
      "it is inconclusive against its first level",
      buildComparison({}),
      buildComparison({ outcome: "inconclusive" }),
      "against its first level, it is inconclusive",
    ],
    [
      "copies were slow",
      buildComparison({
        cells: (["unsteady", "uneven", "not slower"] as const).map((verdict) =>
          buildCellComparison({ verdict }),
        ),
      }),
      null,
      "2 cells had slow runs or copies",
    ],
    ["a measurement failed", buildComparison({ outcome: "failed" }), null, "a measurement failed"],
    ["data came back wrong", buildComparison({ outcome: "mismatch" }), null, "data came back wrong"],
  ])("is refused if %s", async (_, comparison, sinceBegun, reason) => {
    expect(await folderWith(comparison, sinceBegun)).toEqual({
      ...{ exitCode: 0, text: `main was not updated: ${reason}.` },
    });
  });

  it("is refused for the worst of what is not ruled out, by its own threshold", async () => {
    const comparison = levels([-0.04, -0.05, -0.2, 0, 0, 0]);
    const groups = comparison.groups.map(
      (group, i) => ({ ...group, verdict: i === 2 ? "not slower" : "inconclusive" }) as const,
    );
    const cells = comparison.cells.map((cell, i) => ({ ...cell, threshold: i === 1 ? 0.06 : 0.03 }));
    const { exitCode, text } = await folderWith({ ...comparison, cells, groups });
    expect(exitCode).toBe(0);
    expect(text).toBe("main was not updated: GPU 0 D2H pageable may have lost 4.0 %.");
  });
});

/** A baseline of five runs on this machine, and checks whose processes give its first run, as fast as a day says. */
async function withMeasuredBaseline() {
  const { document } = await measureSmall(["--memory", "pinned"], memoryLink);
  const folder = await baselineOf(document);
  let processes = 0;
  const check = async (day: number, speed: number, ...args: string[]) => {
    const today = speed * Math.exp(0.002 * normal());
    playRuns(async function* ({ cells }, runs) {
      for (let run = 0; run < runs; ++run) {
        ++processes;
        const startedAt = new Date(Date.UTC(2027, 0, day, 5, processes % 60)).toISOString();
        const measured = documentAtSpeed(document, today * Math.exp(0.001 * normal()));
        yield {
          ...{ kind: "result", run },
          document: {
            ...measured,
            run: { ...measured.run, id: `process-${processes}`, startedAt },
            cells: measured.cells.filter(({ id }) => cells!.includes(id)),
          },
        };
      }
    });
    const finished = await callCli(["check", "--baseline", folder, "--update", ...args]);
    return { ...finished, stderr: finished.stderr.replaceAll(folder, "main") };
  };
  return { folder, check };
}

describe("check --update", () => {
  it.each([
    ["without a history", []],
    ["with one of eight healthy days", ["--history"]],
  ])(
    "fails for a standing loss of 7 percent on each day and in each rerun, and never takes it in: %s",
    async (_, flags) => {
      const { folder, check } = await withMeasuredBaseline();
      const history = flags.flatMap((flag) => [flag, join(temporaryFolder(), "past")]);
      for (let day = 1; day <= (history.length > 0 ? 8 : 0); ++day) {
        expect(await check(day, 1, ...history)).toMatchObject({ exitCode: 0 });
      }
      const held = filesIn(folder);
      for (const day of [9, 10, 11, 12, 18, 18, 18]) {
        const { exitCode, stderr } = await check(day, 0.93, ...history);
        expect({ day, exitCode, stderr }).toEqual({
          ...{ day, exitCode: 1 },
          stderr:
            "pinbench: main was not updated: there is a regression. To accept it, make a new baseline with pinbench baseline.\n",
        });
      }
      expect(filesIn(folder)).toEqual(held);
    },
  );

  it("fails when losses that are each within the threshold add up to more", async () => {
    const { folder, check } = await withMeasuredBaseline();
    const first = await check(1, 0.957, "--threshold", "5%");
    expect(first).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/pinned 64 KiB x1 is [45]\.\d % below its first level/),
    });
    const held = filesIn(folder);
    const second = await check(2, 0.957 ** 2, "--threshold", "5%");
    expect(second.stdout).not.toMatch(/\) +(probably )?slower$/m);
    expect(second).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^pinbench: main was not updated: against its first level, .*slower/),
    });
    expect(filesIn(folder)).toEqual(held);
  });
});

it("real runs on a link of half the width fail the check, and join no baseline", async () => {
  const onLink = (width: number) => ({
    PINBENCH_EMULATED_NVML: JSON.stringify({ generation: 5, width, maxGeneration: 5, maxWidth: 16 }),
  });
  const cwd = temporaryFolder();
  const command = (args: string, width: number) =>
    callCliAlone(args.split(" "), { cwd, env: { ...memoryLink, ...onLink(width) } });
  const sweep = "--backend emulated --sizes 64KiB --memory pinned --workers 1 --samples 6";
  expect(await command(`baseline main ${sweep} --runs 3`, 16)).toMatchObject({ exitCode: 0 });
  const held = filesIn(join(cwd, "main"));
  expect(await command("check --baseline main --runs 3 --threshold 90% --allow-mismatch", 8)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/=> The link of GPU 0 runs at x8, the baseline's at x16\. /),
  });
  expect(await command("baseline main --append --runs 1", 8)).toMatchObject({
    exitCode: 5,
    stderr: expect.stringMatching(
      /pinbench: the link of GPU 0 runs at x8, the baseline's at x16, and nothing was added to main\. /,
    ),
  });
  expect(filesIn(join(cwd, "main"))).toEqual(held);
});
