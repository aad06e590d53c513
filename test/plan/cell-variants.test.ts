import { describe, expect, it } from "vitest";
import { h200, KiB, MiB, planOf } from "./support.js";

const devices = [0, 1, 2].map((ordinal) => ({
  ...h200,
  ordinal,
  peers: [0, 1, 2].filter((peer) => peer !== ordinal),
}));
const two = { devices: devices.slice(0, 2) };

/** What the ids of a plan's cells have beyond those of plain cells, of host controls nothing; each once. */
function variantsIn(...[given, changes = two]: Parameters<typeof planOf>): string[] {
  const defaults = { sizesBytes: [MiB], workers: [1, 2], memory: ["pinned"], directions: ["h2d"] } as const;
  const { cells } = planOf({ ...defaults, ...given }, changes);
  return [...new Set(cells.map(({ id }) => id.split("/").slice(8).join("/")))];
}

const idsIn = (...arguments_: Parameters<typeof planOf>) => planOf(...arguments_).cells.map(({ id }) => id);

describe("cells beside the plain ones", () => {
  it("are those of processes, beside the threads' or instead of them", () => {
    expect(variantsIn({ workerKinds: ["thread", "process"] })).toEqual(["", "process"]);
    expect(variantsIn({ workerKinds: ["process"] })).toEqual(["process"]);
  });

  it("are none of processes for what a device copies by itself", () => {
    const ids = idsIn({
      sizesBytes: [MiB],
      workers: [1],
      memory: ["pinned", "device"],
      directions: ["h2d", "d2d"],
      workerKinds: ["process"],
    });
    expect(ids).toEqual([
      `d0/h2d/pinned/${MiB}/w1/throughput/wall/cold/process`,
      `d0/d2d/device/${MiB}/w1/throughput/wall/cold`,
    ]);
  });

  it("have the threads' plain cell with them that they are held against", () => {
    const ofProcesses = { workerKinds: ["process"], workers: [1] } as const;
    expect(variantsIn({ ...ofProcesses, besides: ["memory"] })).toEqual(["", "process", "beside-memory"]);
    expect(variantsIn({ ...ofProcesses, pipelineChunks: [1] })).toEqual(["", "process", "chunks-1"]);
  });

  it("are those of several devices, threads' and processes'", () => {
    expect(variantsIn({ together: true })).toEqual(["", "together-0-1"]);
    expect(variantsIn({ together: true, workerKinds: ["thread", "process"] })).toEqual([
      "",
      "process",
      "together-0-1",
      "process/together-0-1",
    ]);
  });

  it("are none of several devices for what the host copies by itself", () => {
    const ids = idsIn({ sizesBytes: [MiB], memory: ["host", "pinned"], together: true }, two);
    const together = ids.filter((id) => id.endsWith("together-0-1"));
    expect(new Set(together.map((id) => id.split("/")[2]))).toEqual(new Set(["pinned"]));
  });

  it("are those beside a load, and the plain ones, which say what it costs", () => {
    expect(variantsIn({ besides: ["host", "compute"] })).toEqual(["", "beside-compute", "beside-host"]);
  });

  it("are those of threads too beside a load, if processes alone were asked for: a load takes from threads", () => {
    expect(variantsIn({ workerKinds: ["process"], besides: ["host"] })).toEqual([
      "",
      "process",
      "beside-host",
    ]);
    expect(variantsIn({ workerKinds: ["process"], besides: ["host"], together: true })).toEqual([
      "",
      "process",
      "process/together-0-1",
      "beside-host",
    ]);
  });

  it("are a pipeline of one worker's copies to the device, in one chunk as well, which is the sum of its parts", () => {
    const ids = idsIn({
      sizesBytes: [MiB],
      workers: [1, 2],
      memory: ["pinned", "mapped"],
      directions: ["h2d", "d2h"],
      pipelineChunks: [4],
    });
    expect(ids.filter((id) => id.includes("chunks"))).toEqual([
      `d0/h2d/pinned/${MiB}/w1/throughput/wall/cold/chunks-1`,
      `d0/h2d/pinned/${MiB}/w1/throughput/wall/cold/chunks-4`,
    ]);
  });

  it("are skipped if a batch is too small for that many chunks", () => {
    const { cells } = planOf({
      sizesBytes: [KiB, 64 * KiB],
      workers: [1],
      memory: ["pinned"],
      directions: ["h2d"],
      pipelineChunks: [2, 4],
    });
    expect(cells.flatMap(({ id, skipReason }) => (skipReason === null ? [] : [[id, skipReason]]))).toEqual([
      ["d0/h2d/pinned/1024/w1/throughput/wall/cold/chunks-4", "a copy of 1 KiB has at most 2 chunks"],
    ]);
  });

  it("are copies between every two devices, both ways, in every way", () => {
    const ids = idsIn({ sizesBytes: [MiB], workers: [1], directions: ["p2p"] }, { devices });
    const pairs = new Set(ids.map((id) => `${id.slice(0, 2)} ${id.split("/")[8]}`));
    expect([...pairs]).toEqual(["d0 to-1", "d0 to-2", "d1 to-0", "d1 to-2", "d2 to-0", "d2 to-1"]);
    expect(
      ids.filter((id) => id.startsWith("d2") && id.includes("to-0")).map((id) => id.split("/")[9]),
    ).toEqual(["write", "read", "through-host", "kernel-write", "kernel-read"]);
  });
});

describe("devices that have no access to each other's memory", () => {
  it("copy to each other through the host alone", () => {
    const apart = devices.slice(0, 2).map((device) => ({ ...device, peers: [] }));
    const settings = { sizesBytes: [MiB], workers: [1], directions: ["p2p"] } as const;
    const { cells } = planOf(settings, { devices: apart });
    const measured = cells.filter(({ skipReason }) => skipReason === null);
    expect(measured.map(({ device, path }) => [device, path])).toEqual([
      [0, "through-host"],
      [1, "through-host"],
    ]);
    expect(cells.find(({ device, path }) => device === 1 && path === "read")?.skipReason).toBe(
      "devices 1 and 0 have no access to each other's memory",
    );
  });
});

describe("what takes several devices", () => {
  it("takes all of them if nobody says which", () => {
    const ordinalsIn = (given: Parameters<typeof planOf>[0]) => [
      ...new Set(planOf({ sizesBytes: [MiB], ...given }, { devices }).cells.map(({ device }) => device)),
    ];
    expect(ordinalsIn({ together: true })).toEqual([0, 1, 2]);
    expect(ordinalsIn({ together: true, devices: [0, 2] })).toEqual([0, 2]);
    expect(ordinalsIn({ directions: ["p2p"] })).toEqual([0, 1, 2]);
    expect(ordinalsIn({})).toEqual([0]);
  });
});

describe("a list of cells", () => {
  const plain = `h2d/pinned/${MiB}/w2/throughput/wall/cold`;

  it("brings in what its cells are measured together with", () => {
    expect(idsIn({ cells: [`d1/${plain}/together-0-1`] }, two)).toEqual([
      `d0/${plain}/together-0-1`,
      `d1/${plain}/together-0-1`,
    ]);
  });

  it("takes the device that a copy goes to as well", () => {
    const { estimate } = planOf({ cells: [`d0/p2p/device/${MiB}/w1/throughput/wall/cold/to-1/write`] }, two);
    expect(estimate.devicesAtOnce).toBe(2);
  });
});
