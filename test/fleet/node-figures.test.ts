import { describe, expect, it } from "vitest";
import { timeText } from "../../src/draw/words.js";
import { figuresOfNode, keyOf, kindOf, linkText } from "../../src/fleet/node-figures.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  type DocumentPart,
} from "../helpers/result-document.js";

const twoGpus = [0, 1].map((ordinal) => buildDevice({ ordinal, uuid: `GPU-${ordinal}` }));
/** Two of several GPUs: their numbers differ from their positions in the list. */
const chosen = [1, 3].map((ordinal) => buildDevice({ ordinal, uuid: `GPU-${ordinal}` }));
const nodeOf = (cells: CellResult[], part: DocumentPart = {}, devices = twoGpus) =>
  figuresOfNode(buildDocument({ devices, ...part, cells }), null);
const on = (device: number, GBps = 50) => buildCell({ device, GBps });
const figures = ({ devices }: ReturnType<typeof nodeOf>) =>
  devices.map((device) =>
    [...device.figures].map(([key, figure]) => [kindOf(key).moved, kindOf(key).unit, figure]),
  );

describe("a node's figures", () => {
  it("are those of each GPU's cells, by direction, without the sum and the host's own copies", () => {
    const both = buildCell({ device: 1, direction: "bidir", GBps: { h2d: 30, d2h: 31, sum: 61 } });
    const node = nodeOf([on(0), both, buildCell({ device: 0, memory: "host", GBps: 9 })]);
    expect(figures(node)).toEqual([
      [["h2d", "GB/s", 50]],
      [
        ["h2d", "GB/s", 30],
        ["d2h", "GB/s", 31],
      ],
    ]);
    expect(node).toMatchObject({ state: "measured", reason: null, notes: [] });
    expect(figures(nodeOf([on(3, 60), on(1)], {}, chosen))).toEqual([
      [["h2d", "GB/s", 50]],
      [["h2d", "GB/s", 60]],
    ]);
  });

  it("have keys that do not depend on the GPU", () => {
    const [first, second] = nodeOf([on(0), on(1)]).devices.map((device) => [...device.figures.keys()]);
    expect(first).toEqual(second);
    const kind = { cell: "h2d/pinned/67108864/w1/throughput/cold", moved: "h2d", unit: "GB/s" } as const;
    expect(kindOf(keyOf(kind))).toEqual(kind);
    expect(kindOf(keyOf(kind))).toBe(kindOf(keyOf({ ...kind })));
    expect(() => kindOf("none")).toThrow(RangeError);
  });
});

describe("a node's state", () => {
  it("is measured with a figure of any GPU, and failed with none", () => {
    expect(nodeOf([on(1)]).state).toBe("measured");
    const skipped = nodeOf([on(1), buildSkipped({ device: 0 }, "no room")]);
    expect(skipped).toMatchObject({
      state: "measured",
      devices: [{ failures: new Map() }, { failures: new Map() }],
    });
    expect(nodeOf([])).toMatchObject({ state: "failed", reason: "its result has no figures" });
    expect(
      nodeOf([buildSkipped({ device: 0 }, "no room"), buildFailed({ device: 1 }, "E", "no memory")]),
    ).toMatchObject({
      state: "failed",
      reason: "it failed: no memory",
    });
  });

  it("is measured though all cells of one of its GPUs failed, with errors by cell", () => {
    const broken = (device: number) => buildFailed({ device, direction: "d2h" }, "E", "it is lost.");
    const cell = "d2h/pinned/16777216/w1/throughput/cold";
    expect(nodeOf([on(1), broken(3)], {}, chosen)).toMatchObject({
      ...{ state: "measured", reason: null, notes: [] },
      devices: [{ failures: new Map() }, { failures: new Map([[cell, "it is lost"]]) }],
    });
  });

  it("is failed if its run failed or was interrupted", () => {
    const run = (status: "failed" | "interrupted", error: object | null = null) =>
      nodeOf([on(0)], { run: { status, error } as never });
    expect(run("interrupted")).toMatchObject({
      state: "failed",
      reason: "its run was interrupted, or was killed",
    });
    expect(run("failed")).toMatchObject({ state: "failed", reason: "its run failed: no reason is known" });
    expect(run("failed", { message: "lost" })).toMatchObject({ reason: "its run failed: lost" });
  });

  it("is wrong data, with the GPUs whose copies were wrong", () => {
    const wrong = (device: number) => buildMismatch({ device });
    const at = ` at ${timeText(nodeOf([]).startedAt!)}`;
    expect(nodeOf([wrong(1), wrong(1), on(0)]).reason).toBe(`copies of GPU 1 came back wrong${at}`);
    expect(nodeOf([wrong(1), wrong(0)])).toMatchObject({
      state: "wrong data",
      reason: `copies of GPU 0, 1 came back wrong${at}`,
    });
    expect(nodeOf([wrong(0)], {}, twoGpus.slice(0, 1)).reason).toBe(`copies of GPU 0 came back wrong${at}`);
    expect(nodeOf([wrong(3), on(1)], {}, chosen).reason).toBe(`copies of GPU 3 came back wrong${at}`);
  });
});

describe("a node's links", () => {
  const link = (changes: object) => buildDevice({ link: { ...twoGpus[0]!.link!, ...changes } as never });

  it("are known only with both generation and width", () => {
    const linkOf = (changes: object) => nodeOf([on(0)], {}, [link(changes)]).devices[0]!;
    expect(linkOf({ width: 8, maxGeneration: 4 })).toMatchObject({
      link: { generation: 5, width: 8 },
      linkCapability: { generation: 4, width: 16 },
    });
    expect(linkOf({ width: null }).link).toBeNull();
    expect(linkOf({ generation: null }).link).toBeNull();
    expect(linkOf({ maxWidth: null }).linkCapability).toBeNull();
    expect(nodeOf([on(0)], {}, [buildDevice({ link: null })]).devices[0]).toMatchObject({
      link: null,
      linkCapability: null,
    });
    expect([linkText(null), linkText({ generation: 4, width: 8 })]).toEqual([null, "gen4 x8"]);
  });

  it("are as capable as the best GPU's, and a generation counts as twice the lanes", () => {
    const best = (...changes: object[]) => nodeOf([on(0)], {}, changes.map(link)).facts.linkCapability;
    expect(best({ maxWidth: 8 }, {})).toBe("gen5 x16");
    expect(best({ maxGeneration: 4, maxWidth: 16 }, { maxGeneration: 5, maxWidth: 4 })).toBe("gen4 x16");
    expect(best({ maxGeneration: 3, maxWidth: 16 }, { maxGeneration: 5, maxWidth: 8 })).toBe("gen5 x8");
    expect(best({ maxWidth: null })).toBeNull();
  });

  it("come with other facts: the workers' NUMA node, chosen GPUs, and the node's name", () => {
    const document = buildDocument({ devices: twoGpus, cells: [on(0)] });
    const workersOn = (numa: number | null) =>
      figuresOfNode({ ...document, plan: { ...document.plan!, numa } as never }, null).facts.workersOn;
    expect([workersOn(0), workersOn(1), workersOn(null)]).toEqual(["0", "1", null]);
    const chose = (devices: readonly number[] | "all", origins: object) => {
      const settings = { ...document.plan!.settings, devices, origins };
      return figuresOfNode({ ...document, plan: { ...document.plan!, settings } as never }, null)
        .choseDevices;
    };
    const given = { devices: { origin: "flag" } };
    expect([chose([0], given), chose([0], {}), chose("all", given)]).toEqual([true, false, false]);
    expect(figuresOfNode(document, null).wallNs).toBe(document.run.wallNs);
    const labelled = buildDocument({
      devices: twoGpus,
      run: { labels: { node: "label" } },
      host: { hostname: "own" },
    });
    expect(figuresOfNode(labelled, null).host).toBe("label");
    expect(figuresOfNode(buildDocument({ host: { hostname: "own" } }), null).host).toBe("own");
  });
});
