import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { cellFigures, deviceNames, readResultSet, runFigures, runsOf } from "../../src/compare/result-set.js";
import type { PinbenchError } from "../../src/errors.js";
import { createRuns, listRuns } from "../../src/results/files/run-folder.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { folderOf } from "../helpers/config.js";
import { frozen } from "../helpers/frozen.js";
import { buildCell, buildDevice, buildDocument, buildLink } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

vi.mock("../../src/results/files/run-folder.js", { spy: true });

const [first, second, third] = buildRuns({ count: 3 });

describe("the runs on one side of a comparison", () => {
  it("are the run of a file, or all runs of a folder in the order of measuring", async () => {
    const folder = folderOf({ "a.json": third, "b.json": first, "c.json": second, "notes.txt": "" });
    const file = join(folder, "b.json");
    expect(await readResultSet(file, "baseline")).toEqual({
      ...{ path: file, runs: [{ ...resultSet([first!]).runs[0], path: file }] },
    });
    const { runs } = await readResultSet(folder, "candidate");
    expect(runs.map(({ path }) => path)).toEqual(["b", "c", "a"].map((name) => join(folder, `${name}.json`)));
  });

  it("are read again if they were replaced meanwhile", async () => {
    const folder = folderOf({ "a.json": first });
    vi.mocked(listRuns).mockResolvedValueOnce([join(folder, "replaced.json")]);
    const { runs } = await readResultSet(folder, "candidate");
    expect(runs.map(({ path }) => path)).toEqual([join(folder, "a.json")]);
  });

  it("are those that a baseline's list names, and nothing else", async () => {
    const folder = join(folderOf({}), "baseline");
    await createRuns(
      folder,
      [first, second].map((document) => JSON.stringify(document)),
    );
    writeFileSync(join(folder, "stray.json"), "no result");
    expect((await readResultSet(folder, "baseline")).runs).toHaveLength(2);
  });
});

describe("a side of a comparison that cannot be read", () => {
  const withPipe = () => {
    const folder = folderOf({ "notes.txt": "" });
    mkdirSync(join(folder, "a.json"));
    execFileSync("mkfifo", [join(folder, "b.json")]);
    return folder;
  };
  const [noFolder, noFile] = ["none", "none.json"].map((name) => () => join(folderOf({}), name));
  const [empty, unrelated] = [() => folderOf({}), () => folderOf({ "notes.txt": "" })];
  const newer = () => folderOf({ "a.json": first, "b.json": '{"schemaVersion": 9}' });
  // A copied file would count as a second run.
  const twice = () => folderOf({ "a.json": first, "b.json": second, "c.json": first });
  const toMake = "Make one with `pinbench baseline";

  it.each<[string, () => string, "baseline" | "candidate", string, string]>([
    ["no such path", noFolder!, "baseline", "notComparable", `there is no baseline PATH. ${toMake} PATH\`.`],
    [
      "a missing baseline file",
      noFile!,
      "baseline",
      "notComparable",
      "or a folder that `pinbench baseline FOLDER`",
    ],
    ["a missing candidate file", noFile!, "candidate", "usage", "cannot read PATH: there is no such file."],
    [
      "an empty folder as the baseline",
      empty,
      "baseline",
      "notComparable",
      `there is no baseline in PATH. ${toMake} PATH\`.`,
    ],
    ["a folder of notes", unrelated, "baseline", "notComparable", `${toMake} FOLDER\`, in a new folder.`],
    ["an empty folder as the candidate", empty, "candidate", "usage", "PATH"],
    ["a pipe named b.json", withPipe, "candidate", "usage", "PATH is a folder without a result in it."],
    ["a file of another version", newer, "baseline", "usage", "PATH/b.json has schemaVersion 9"],
    ["a folder with a run twice", twice, "baseline", "usage", "PATH/c.json is the same run as PATH/a.json."],
  ])("is refused with its reason: %s", async (_, make, role, kind, text) => {
    const path = make();
    const error = await readResultSet(path, role).catch((reason: unknown) => reason as PinbenchError);
    expect(error).toMatchObject({ kind });
    const { message, hint } = error as PinbenchError;
    expect(`${message} ${hint}`.replaceAll(path, "PATH")).toContain(text);
  });
});

describe("a result of several processes", () => {
  const speeds = [10, 12, 11];
  const [throughput] = buildRuns({ count: 1 });
  const [latency] = buildRuns({
    count: 1,
    cells: [{ mode: "latency", GBps: 1, latencyUs: { median: 8, p99: 9 } }],
  });
  const ofProcesses = (document: ResultDocument): ResultDocument => ({
    ...document,
    run: {
      ...document.run,
      runs: speeds.map((_, p) => ({
        ...{ id: `process-${p}`, startedAt: `2026-11-20T10:0${p}:00.000Z`, wallNs: p * 1e9 },
      })),
    },
    cells: document.cells.map((cell) => ({
      ...cell,
      stats: cell.stats.map((stats) => ({
        ...stats,
        bandwidthGBps: { ...stats.bandwidthGBps, processMedians: speeds },
        latencyUs: stats.latencyUs && { ...stats.latencyUs, processMedians: [7, 8, 9] },
      })),
    })),
  });
  const figuresOf = (document: ResultDocument) =>
    runsOf(frozen(ofProcesses(document)), "a.json").map(({ id, startedAt, wallNs, path, cells }) => [
      ...[id, startedAt, wallNs, path, cells[0]!.figures[0]!.value],
    ]);

  it("counts as one run for each process, with its own medians, id and time", () => {
    expect(figuresOf(throughput!)).toEqual([
      ["process-0", "2026-11-20T10:00:00.000Z", 0, "a.json", 10],
      ["process-1", "2026-11-20T10:01:00.000Z", 1e9, "a.json", 12],
      ["process-2", "2026-11-20T10:02:00.000Z", 2e9, "a.json", 11],
    ]);
    expect(figuresOf(latency!).map((run) => run.at(-1))).toEqual([7, 8, 9]);
  });

  it("is refused if a folder holds it twice", async () => {
    const document = ofProcesses(throughput!);
    const folder = folderOf({ "a.json": document, "b.json": document });
    await expect(readResultSet(folder, "baseline")).rejects.toThrow(/is the same run as/);
  });
});

describe("the reason why a cell has no figure", () => {
  const error = { message: "no memory" };
  const complete = { status: "complete", error: null };

  it.each<[object, object, "none" | "failed" | "mismatch" | null, string]>([
    [{ outcome: "converged" }, complete, "none", ""],
    [{ outcome: "budget" }, complete, "none", ""],
    [{ outcome: "mismatch" }, complete, "mismatch", "the data came back wrong"],
    [{ outcome: "failed", error }, complete, "failed", "it failed: no memory"],
    [{ outcome: "failed", error: null }, complete, "failed", "it failed: no reason is known"],
    [{ outcome: "skipped", skipReason: "no GPU" }, complete, null, "it was skipped: no GPU"],
    [{ outcome: "skipped", skipReason: null }, complete, null, "it was skipped: no reason is known"],
    [{ outcome: null }, complete, null, "its run ended before it was finished"],
    [{ outcome: null }, { status: "failed", error }, "failed", "its run failed: no memory"],
    [{ outcome: null }, { status: "failed", error: null }, "failed", "its run failed: no reason is known"],
    [{ outcome: null }, { status: "aborted" }, null, "its run was interrupted before it was finished"],
  ])("is $3 for %j in a run with %j", (changes, run, failure, reason) => {
    const cell = frozen({ ...buildCell({ GBps: 50 }), ...changes });
    const { absence, figures } = cellFigures(cell, run as Parameters<typeof cellFigures>[1]);
    expect(absence).toEqual(failure === "none" ? null : { failure, reason });
    expect(figures).toHaveLength(failure === "none" ? 1 : 0);
  });
});

it("a device's link is the best reading of the device and its cells, and of no other device", () => {
  const link = buildLink({ generation: 4, width: 8 });
  const names = ["NVIDIA H200", "NVIDIA L4", "NVIDIA T4"];
  const devices = [1, 3, 5].map((ordinal, i) =>
    buildDevice({ ordinal, name: names[i]!, link: ordinal === 5 ? buildLink({ width: 4 }) : null }),
  );
  const cells = [1, 3].map((device) => ({ ...buildCell({ device }), link: device === 3 ? link : null }));
  const run = runFigures(frozen(buildDocument({ devices, cells })), null);
  expect(deviceNames(run)).toEqual(names);
  expect(run.links).toMatchObject([
    { device: 1, generation: null, width: null },
    { device: 3, generation: 4, width: 8 },
    { device: 5, generation: 5, width: 4 },
  ]);
});

it("a run's figures keep the load by other programs, and the host name unless it is a container's", () => {
  const hostOf = (hostname: string, container: string | null = null) =>
    runFigures(buildDocument({ host: { hostname, container } }), null).machine.hostName;
  expect([hostOf("node-1"), hostOf("node-1", "docker"), hostOf("unknown")]).toEqual([["node-1"], [], []]);
  // Emulated devices have the same UUIDs and addresses on every machine.
  const { machine } = runFigures(buildDocument({ backend: "emulated" }), null);
  expect(machine).toEqual({ hostName: ["node-1"], gpuUuids: [], pciAddresses: [] });
  const pressure = { cpuPressureShare: null, memoryPressureShare: null, ioPressureShare: null };
  const load = { stealShare: 0, otherCpuShare: 0.1, ...pressure };
  expect(runFigures(buildDocument({ run: { wallNs: 7, load } }), null)).toMatchObject({ wallNs: 7, load });
});
