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
import { buildComparison, buildGroup } from "../helpers/comparison.js";
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

/** One loss of 4.3 % is within the threshold, two together are not. */
const rule = { thresholds: { ...defaultThresholds, default: 0.05 } };

/** What `check --update` prints on this day. */
async function updateOn(day: number, speed: number, folder: string) {
  const runs = runsAt(speed, day);
  const baseline = await readResultSet(folder, "baseline");
  const before = await documentsOf(await listRuns(folder));
  const begun = await readBegunRuns(folder);
  const begunDocuments = await documentsOf((begun?.runs ?? []).map(({ path }) => path!));
  const notes: string[] = [];
  await updateBaseline(
    {
      ...{ path: folder, baseline, texts: runs.map((run) => JSON.stringify(run)) },
      comparison: compareRuns(before, runs, { command: "check", rule }),
      sinceBegun: begun === null ? null : compareRuns(begunDocuments, runs, { rule }),
    },
    (text) => notes.push(text),
  );
  return notes.join("\n").replaceAll(folder, "main");
}

describe("the first runs of a baseline", () => {
  it("stay known after updates, so that an update is refused once small losses add up", async () => {
    const folder = await newBaseline(runsAt(1, 0));
    for (const day of [1, 2, 3]) expect(await updateOn(day, 1, folder)).toMatch(/^main now holds/);
    expect((await readBegunRuns(folder))?.runs.map(({ id }) => id)).toEqual(
      runsAt(1, 0).map(({ run }) => run.id),
    );
    expect(await updateOn(6, 0.957, folder)).toMatch(/^main now holds/);
    expect(await updateOn(7, 0.957 ** 2, folder)).toMatch(
      /^main was not updated: against its first runs, there is a regression\./,
    );
  });
});

describe("an update of a baseline", () => {
  const folderWith = async (comparison: Comparison, sinceBegun: Comparison | null = null) => {
    const folder = await newBaseline(runsAt(1, 0));
    const baseline = await readResultSet(folder, "baseline");
    const notes: string[] = [];
    const update = { path: folder, baseline, comparison, sinceBegun, texts: ["{}", "{}"] };
    await updateBaseline(update, (text) => notes.push(text));
    return notes.join("\n").replaceAll(folder, "main");
  };
  const kinds = [0, 1].flatMap((device) => ["pageable", "pinned"].map((kind) => ({ device, kind })));
  const levels = (...changes: number[]) =>
    buildComparison({ groups: kinds.map((part, i) => buildGroup({ ...part, change: changes[i]! })) });

  it.each<[string, Comparison, Comparison | null, string]>([
    [
      "a GPU of the baseline is missing",
      buildComparison({
        differences: [
          { fact: "number of GPUs", baseline: "2", candidate: "1", blocks: false, isOverruled: false },
        ],
      }),
      null,
      "a GPU is missing",
    ],
    [
      "the baseline's first runs are of another machine",
      buildComparison({}),
      buildComparison({ outcome: "not comparable" }),
      "against its first runs, this is another machine, and --allow-mismatch was not given",
    ],
    [
      "the comparison with its first runs is undecided",
      buildComparison({}),
      buildComparison({ outcome: "undecided" }),
      "against its first runs, it is undecided",
    ],
    [
      "a loss beyond the threshold is within the noise",
      levels(-0.02, -0.031, -0.05, 0),
      null,
      "d1 H2D pageable may have lost 5.0 %",
    ],
    ["a measurement failed", buildComparison({ outcome: "failed" }), null, "a measurement failed"],
    ["data came back wrong", buildComparison({ outcome: "mismatch" }), null, "data came back wrong"],
  ])("is refused if %s", async (_, comparison, sinceBegun, reason) => {
    expect(await folderWith(comparison, sinceBegun)).toBe(`main was not updated: ${reason}.`);
  });
});

/** A baseline of five runs, and checks that replay its first run at the speed of a day. */
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
    ["with a history of eight healthy days", ["--history"]],
  ])(
    "fails each day and rerun for a lasting loss of 50 %, and never adds it to the baseline: %s",
    async (_, flags) => {
      const { folder, check } = await withMeasuredBaseline();
      const history = flags.flatMap((flag) => [flag, join(temporaryFolder(), "past")]);
      for (let day = 1; day <= (history.length > 0 ? 8 : 0); ++day) {
        expect(await check(day, 1, ...history)).toMatchObject({ exitCode: 0 });
      }
      const held = filesIn(folder);
      for (const day of [9, 10, 11, 12, 18, 18, 18]) {
        const { exitCode, stderr } = await check(day, 0.5, ...history);
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
    const first = await check(1, 0.65, "--threshold", "40%");
    expect(first).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("now holds the"),
    });
    const held = filesIn(folder);
    const second = await check(2, 0.65 ** 2, "--threshold", "40%");
    expect(second).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("=> Slower: "),
      stderr: expect.stringMatching(
        /^pinbench: main was not updated: against its first runs, there is a regression\./,
      ),
    });
    expect(filesIn(folder)).toEqual(held);
  });
});

it("runs over a link of half the width fail a check, and cannot be added to the baseline", async () => {
  const onLink = (width: number) => ({
    PINBENCH_EMULATED_NVML: `generation=5:width=${width}:maxGeneration=5:maxWidth=16`,
  });
  const cwd = temporaryFolder();
  const command = (args: string, width: number) =>
    callCliAlone(args.split(" "), { cwd, env: { ...memoryLink, ...onLink(width) } });
  const sweep = "--backend emulated --sizes 64KiB --memory pinned --workers 1 --samples 6";
  expect(await command(`baseline main ${sweep} --runs 3`, 16)).toMatchObject({ exitCode: 0 });
  const held = filesIn(join(cwd, "main"));
  expect(await command("check --baseline main --runs 3 --threshold 90% --allow-mismatch", 8)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(
      /=> Slower link: the link of GPU 0 runs at x8, the baseline's at x16\.\n=> Copies are not slower\. /,
    ),
  });
  expect(await command("baseline main --append --runs 1", 8)).toMatchObject({
    exitCode: 5,
    stderr: expect.stringMatching(
      /pinbench: the link of GPU 0 runs at x8, the baseline's at x16, and nothing was added to main\. /,
    ),
  });
  expect(filesIn(join(cwd, "main"))).toEqual(held);
});
