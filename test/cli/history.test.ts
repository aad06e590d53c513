import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { historyPath } from "../../src/results/files/history-file.js";
import { historyEntrySchema } from "../../src/results/history-entry.js";
import { baselineAt, certainly, checkJson } from "../helpers/baseline-folder.js";
import { buildEntry, buildFigure, buildTrend, historyFolder, pinnedId } from "../helpers/history.js";
import { callCli } from "../helpers/in-process.js";
import { copyFaults, temporaryFolder } from "../helpers/run-cli.js";

const ids = ["h2d", "d2h"].map((direction) => `d0/${direction}/pinned/65536/w1/throughput/cold`);
const entriesIn = (folder: string) =>
  readFileSync(historyPath(folder), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => historyEntrySchema.parse(JSON.parse(line)));
/** No single run of a busy machine is that slow. */
const calm = ["--threshold", "80%"];
const newHistory = () => join(temporaryFolder(), "history");

describe("check --history", () => {
  it("keeps the medians of each check, also of one that ends in a regression", async () => {
    const history = newHistory();
    const fine = await checkJson(await baselineAt(certainly.faster), ["--history", history, ...calm]);
    expect(fine).toMatchObject({ exitCode: 0, stderr: "" });
    const slower = await checkJson(await baselineAt(certainly.slower), ["--history", history]);
    expect(slower).toMatchObject({ exitCode: 1, stderr: "" });
    const entries = entriesIn(history);
    expect(entries).toMatchObject([
      { outcome: "pass", backend: "emulated", startedAt: fine.comparison.candidate.startedAt },
      { outcome: "regression", backend: "emulated", startedAt: slower.comparison.candidate.startedAt },
    ]);
    for (const { series, fingerprint, machine, id } of entries) {
      expect(series.map((one) => one.id)).toEqual(ids);
      // The suspects were measured again by three runs more, which are none of these.
      for (const { runs, figure } of series) {
        expect(runs).toBe(3);
        expect(figure).toBeGreaterThan(0);
      }
      expect(fingerprint).toEqual(fine.comparison.candidate.fingerprint);
      // Emulated devices are alike everywhere: their names cannot distinguish machines.
      expect(machine).toMatchObject({ gpuUuids: [], pciAddresses: [] });
      expect(id).not.toBe("");
    }
  });

  it("keeps a check whose data came back wrong, without that cell's figure", async () => {
    const history = newHistory();
    const baseline = await baselineAt(certainly.faster);
    const { exitCode } = await checkJson(baseline, ["--history", history], copyFaults("drop", "h2d"));
    expect(exitCode).toBe(7);
    expect(entriesIn(history)).toMatchObject([{ outcome: "mismatch", series: [{ id: ids[1] }] }]);
  });

  it("keeps nothing of a check that is not comparable", async () => {
    const history = newHistory();
    const otherGpu = await baselineAt(1, (document) => ({
      ...document,
      fingerprint: { ...document.fingerprint, gpu: "another one" },
    }));
    const { exitCode } = await checkJson(otherGpu, ["--history", history]);
    expect(exitCode).toBe(5);
    expect(existsSync(historyPath(history))).toBe(false);
  });

  it.each([
    ["still exits with 1 if copies are slower", certainly.slower, 1, []],
    ["exits with 2 if no copy is slower", certainly.faster, 2, []],
    ["exits with 2 if the baseline is updated", certainly.faster, 2, ["--update"]],
  ])("names a history that cannot be written, and %s", async (_, speed, code, update) => {
    const history = newHistory();
    mkdirSync(history);
    // A lock that cannot be taken.
    mkdirSync(`${historyPath(history)}.lock`);
    const args = ["--history", history, ...calm, ...update];
    const { exitCode, stderr } = await checkJson(await baselineAt(speed), args);
    expect(exitCode).toBe(code);
    const [failure, ...updated] = stderr.trimEnd().split("\n");
    expect(failure).toMatch(/^pinbench: cannot write .*history\.jsonl: it is a folder\. /);
    expect(updated).toEqual(update.slice(0, 1).map(() => expect.stringContaining(" now holds the 3 runs ")));
  });
});

describe("history", () => {
  const factors = buildTrend({ checks: 40, steps: { 20: -0.05 } });
  const folder = () =>
    historyFolder(
      factors.map((factor, day) => buildEntry(day, { series: [buildFigure({ figure: 50 * factor })] })),
    );

  it("shows since which check the figures are slower", async () => {
    const { exitCode, stdout, stderr } = await callCli(["history", folder()]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("=> Slower since check 21 (2026-01-21 05:00 UTC): ");
  });

  it("shows single cells by id or pattern", async () => {
    const { stdout } = await callCli(["history", folder(), "--cells", `${pinnedId},*/h2d/*`, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ trends: [{ name: pinnedId, kind: "cell" }] });
  });

  it("reports that a history is empty, and which damaged lines it left out", async () => {
    const empty = await callCli(["history", historyFolder([])]);
    expect(empty).toMatchObject({ exitCode: 0, stderr: "" });
    expect(empty.stdout).toContain("holds no check yet");
    const odd = await callCli(["history", historyFolder(["{", buildEntry(0)])]);
    expect(odd.exitCode).toBe(0);
    expect(odd.stdout.replaceAll(/\s+/g, " ")).toContain("is left out: it is not JSON");
  });
});
