import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { readResultSet, runFigures, runsOf } from "../../src/compare/result-set.js";
import { createRuns, listRuns } from "../../src/results/files/run-folder.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { folderOf } from "../helpers/config.js";
import { buildCell, buildDevice, buildDocument, buildLink } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

vi.mock("../../src/results/files/run-folder.js", { spy: true });

const [first, second, third] = buildRuns({ count: 3 });

describe("reading the runs of a side", () => {
  it("takes a file for one run", async () => {
    const file = join(folderOf({ "a.json": first }), "a.json");
    const { path, runs } = await readResultSet(file, "baseline");
    expect(path).toBe(file);
    expect(runs).toEqual([{ ...resultSet([first!]).runs[0], path: file }]);
  });

  it("takes every result of a folder, in the order in which they were measured", async () => {
    const folder = folderOf({ "a.json": third, "b.json": first, "c.json": second, "notes.txt": "" });
    const { runs } = await readResultSet(folder, "candidate");
    expect(runs.map(({ path }) => path)).toEqual(["b", "c", "a"].map((name) => join(folder, `${name}.json`)));
    expect(runs.map(({ startedAt }) => startedAt)).toEqual(
      [first, second, third].map((document) => document!.run.startedAt),
    );
  });

  it("reads a folder again whose runs were replaced meanwhile", async () => {
    const folder = folderOf({ "a.json": first });
    vi.mocked(listRuns).mockResolvedValueOnce([join(folder, "replaced.json")]);
    const { runs } = await readResultSet(folder, "candidate");
    expect(runs.map(({ path }) => path)).toEqual([join(folder, "a.json")]);
  });

  it("takes what a baseline's list names, and nothing else", async () => {
    const folder = join(folderOf({}), "baseline");
    await createRuns(
      folder,
      [first, second].map((document) => JSON.stringify(document)),
    );
    writeFileSync(join(folder, "stray.json"), "no result");
    expect((await readResultSet(folder, "baseline")).runs).toHaveLength(2);
  });
});

describe("a result of several processes", () => {
  const speeds = [10, 12, 11];
  const [document] = buildRuns({ count: 1 });
  const ofProcesses: ResultDocument = {
    ...document!,
    run: {
      ...document!.run,
      processes: speeds.map((_, p) => ({
        id: `process-${p}`,
        startedAt: `2026-11-20T10:0${p}:00.000Z`,
        wallNs: p * 1e9,
      })),
    },
    cells: document!.cells.map((cell) => ({
      ...cell,
      stats: cell.stats.map((stats) => ({
        ...stats,
        bandwidthGBps: { ...stats.bandwidthGBps, median: 11, low: 9, high: 13, processMedians: speeds },
      })),
    })),
  };

  it("counts as one run for each process, with its own medians, id and time", async () => {
    const file = join(folderOf({ "a.json": ofProcesses }), "a.json");
    const { runs } = await readResultSet(file, "baseline");
    expect(runs.map(({ id, startedAt, wallNs }) => [id, startedAt, wallNs])).toEqual([
      ["process-0", "2026-11-20T10:00:00.000Z", 0],
      ["process-1", "2026-11-20T10:01:00.000Z", 1e9],
      ["process-2", "2026-11-20T10:02:00.000Z", 2e9],
    ]);
    for (const [p, { path, cells }] of runs.entries()) {
      expect(path).toBe(file);
      expect(cells.flatMap(({ figures }) => figures.map(({ value }) => value))).toEqual(
        cells.map(() => speeds[p]),
      );
    }
  });

  it("has each process's own latency", () => {
    const [latency] = buildRuns({
      count: 1,
      cells: [{ mode: "latency", GBps: 1, latencyUs: { median: 8, p99: 9 } }],
    });
    const cells = latency!.cells.map((cell) => ({
      ...cell,
      stats: cell.stats.map((one) => ({
        ...one,
        latencyUs: { ...one.latencyUs!, processMedians: [7, 8, 9] },
      })),
    }));
    const values = runsOf({ ...ofProcesses, cells }, null).map((run) => run.cells[0]!.figures[0]!.value);
    expect(values).toEqual([7, 8, 9]);
  });

  it("is not read twice", async () => {
    const folder = folderOf({ "a.json": ofProcesses, "b.json": ofProcesses });
    await expect(readResultSet(folder, "baseline")).rejects.toThrow(/is the same run as/);
  });
});

describe("a side that cannot be read", () => {
  it("is not comparable without a baseline, and wrong usage without a candidate", async () => {
    const folder = join(folderOf({}), "none");
    await expect(readResultSet(folder, "baseline")).rejects.toMatchObject({
      kind: "notComparable",
      message: `there is no baseline ${folder}.`,
      hint: `Make one with \`pinbench baseline ${folder}\`.`,
    });
    const path = `${folder}.json`;
    await expect(readResultSet(path, "baseline")).rejects.toMatchObject({
      kind: "notComparable",
      message: `there is no baseline ${path}.`,
      hint: "Give a file that `pinbench run --output FILE.json` wrote, or a folder that `pinbench baseline FOLDER` made.",
    });
    await expect(readResultSet(path, "candidate")).rejects.toMatchObject({
      kind: "usage",
      message: `cannot read ${path}: there is no such file.`,
    });
  });

  it("names the file of a folder that is at fault", async () => {
    const folder = folderOf({ "a.json": first, "b.json": '{"schemaVersion": 9}' });
    await expect(readResultSet(folder, "baseline")).rejects.toMatchObject({
      kind: "usage",
      message: `${join(folder, "b.json")} has schemaVersion 9, and this pinbench reads version 1.`,
    });
  });

  it("names both files of a duplicate run, which would count as two", async () => {
    const folder = folderOf({ "a.json": first, "b.json": second, "c.json": first });
    await expect(readResultSet(folder, "baseline")).rejects.toMatchObject({
      kind: "usage",
      message: `${join(folder, "c.json")} is the same run as ${join(folder, "a.json")}.`,
    });
  });

  it("is not comparable if its folder has been emptied", async () => {
    const folder = folderOf({});
    await expect(readResultSet(folder, "baseline")).rejects.toMatchObject({
      kind: "notComparable",
      message: `there is no baseline in ${folder}.`,
      hint: `Make one with \`pinbench baseline ${folder}\`.`,
    });
    writeFileSync(join(folder, "notes.txt"), "");
    await expect(readResultSet(folder, "baseline")).rejects.toMatchObject({
      hint: "Make one with `pinbench baseline FOLDER`, in a new folder.",
    });
    await expect(readResultSet(folder, "candidate")).rejects.toMatchObject({ kind: "usage" });
  });

  it("is a folder whose only .json entries are a folder and a pipe", async () => {
    const folder = folderOf({ "notes.txt": "" });
    mkdirSync(join(folder, "a.json"));
    execFileSync("mkfifo", [join(folder, "b.json")]);
    await expect(readResultSet(folder, "candidate")).rejects.toMatchObject({
      kind: "usage",
      message: `${folder} is a folder without a result in it.`,
    });
  });
});

it("a device's link is the best of its own cells, and of no other device's", () => {
  const link = buildLink({ generation: 4, width: 8 });
  const devices = [1, 3].map((ordinal) => buildDevice({ ordinal, link: null }));
  const cells = [1, 3].map((device) => ({ ...buildCell({ device }), link: device === 3 ? link : null }));
  expect(runFigures(buildDocument({ devices, cells }), null).links).toMatchObject([
    { device: 1, generation: null, width: null },
    { device: 3, generation: 4, width: 8 },
  ]);
});

it("a run has its duration, its load, and its host's name unless that is a container's or not known", () => {
  const hostOf = (hostname: string, container: string | null = null) =>
    runFigures(buildDocument({ host: { hostname, container } }), null).machine.hostName;
  expect([hostOf("node-1"), hostOf("node-1", "docker"), hostOf("unknown")]).toEqual([["node-1"], [], []]);
  // An emulated device has the same names everywhere.
  const { machine } = runFigures(buildDocument({ backend: "emulated" }), null);
  expect(machine).toEqual({ hostName: ["node-1"], gpuUuids: [], pciAddresses: [] });
  const pressure = { cpuPressureShare: null, memoryPressureShare: null, ioPressureShare: null };
  const load = { stealShare: 0, otherCpuShare: 0.1, ...pressure };
  expect(runFigures(buildDocument({ run: { wallNs: 7, load } }), null)).toMatchObject({ wallNs: 7, load });
});

it("a run has the names of all of its devices, and a link of each", () => {
  const devices = ["NVIDIA H200", "NVIDIA L4"].map((name, ordinal) => buildDevice({ ordinal, name }));
  const { deviceNames, links } = runFigures(buildDocument({ devices }), null);
  expect(deviceNames).toEqual(["NVIDIA H200", "NVIDIA L4"]);
  expect(links.map(({ device }) => device)).toEqual([0, 1]);
});

it("a device's link is known though none of its cells has one", () => {
  const link = buildLink({ generation: 4, width: 8 });
  const cells = [{ ...buildCell(), link: null }];
  expect(runFigures(buildDocument({ devices: [buildDevice({ link })], cells }), null).links).toMatchObject([
    { device: 0, generation: 4, width: 8 },
  ]);
});
