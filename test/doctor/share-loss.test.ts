import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costOf } from "../../src/doctor/causes/cost.js";
import { type Claim, claimOf, shareLoss } from "../../src/doctor/causes/share-loss.js";
import { blameSharing } from "../../src/doctor/causes/slow-copies.js";
import { diagnose } from "../../src/doctor/diagnose.js";
import type { Diagnosis, Found } from "../../src/doctor/diagnosis.js";
import { comparedWith } from "../../src/doctor/examined-device.js";
import { type DeviceChange, examinationOf, otherProgram, rates } from "../helpers/examination.js";
import { runs } from "../helpers/hostile.js";
import {
  machineTree,
  pciFile,
  rootPort,
  switchDownstream,
  switchUpstream,
  type TreeFiles,
} from "../helpers/machine-tree.js";
import { diagnosisContext, link } from "./cause-case.js";

const diagnosisOf = (change: DeviceChange, files: TreeFiles = {}): Diagnosis =>
  diagnose(examinationOf(machineTree(files), change), diagnosisContext);

/** Rates of the fixtures' healthy machine in each direction. */
const expected = { h2d: 55.4, d2h: 55 };
const busy = { computePercent: 90, toDeviceBytesPerSecond: 20e9, fromDeviceBytesPerSecond: 20e9 };

/** The costs of plain pinned copies in a direction, added up. */
const costsIn = ({ findings }: Diagnosis, way: "h2d" | "d2h") =>
  findings
    .flatMap(({ cost }) => cost ?? [])
    .filter(({ direction, copies }) => copies === "pinned" && (direction === way || direction === "both"))
    .reduce((sum, { gigabytesPerSecond }) => sum + gigabytesPerSecond, 0);

describe("a cost", () => {
  it.each([
    [
      { h2d: 4, d2h: 2 },
      { direction: "both", gigabytesPerSecond: 2 },
    ],
    [
      { h2d: 2, d2h: 4 },
      { direction: "both", gigabytesPerSecond: 2 },
    ],
    [
      { h2d: 4.1, d2h: 2 },
      { direction: "h2d", gigabytesPerSecond: 4.1 },
    ],
    [
      { h2d: 2, d2h: 4.1 },
      { direction: "d2h", gigabytesPerSecond: 4.1 },
    ],
    [{ h2d: null }, null],
  ])("counts for both directions only if neither loses more than twice the other: %o", (losses, cost) => {
    const found = costOf(losses, "measured");
    expect(found).toEqual(cost && { ...cost, basis: "measured", copies: "pinned" });
  });
});

describe("a cause costs no more than its mechanism can", () => {
  it("12 packets sent again during 20 GB do not explain the loss of half of the rate", () => {
    const { findings, reason } = diagnosisOf({
      after: { replays: 15 },
      measured: { pinned: rates(27.2, 27.1), nodes: [] },
    });
    expect(findings.find(({ cause }) => cause === "link-errors")).toMatchObject({
      weight: "risk",
      cost: null,
      evidence: expect.arrayContaining(["these errors take at most 0.0595 % of the time"]),
    });
    expect(findings[0]).toMatchObject({
      cause: "unexplained",
      cost: { gigabytesPerSecond: expect.closeTo(27.9, 1) },
    });
    expect(reason).toContain("none of the examined causes explains it");
  });

  it("low clocks by heat explain half as much if CPUs are busy, and isolate no node", () => {
    const load = { stealShare: null, otherCpuShare: 0.9, memoryPressureShare: 0 };
    const examination = examinationOf(machineTree(), {
      health: { clockReasons: ["sw-thermal-slowdown"], link: { ...link, smClockMHz: 300 } },
      measured: { pinned: rates(27.7, 27.5), nodes: [] },
    });
    const found = (activity: object | null) => {
      const machine = { ...examination.machine, activity } as never;
      const { findings } = diagnose({ ...examination, machine }, diagnosisContext);
      return findings.map(({ cause, cost, action }) => [
        cause,
        cost && Math.round(cost.gigabytesPerSecond),
        action,
      ]);
    };
    expect(found(null)).toEqual([["clocks-held", 28, "isolate"]]);
    expect(found({ load, swappedPages: 0 })).toEqual([
      ["clocks-held", 14, "monitor"],
      ["unexplained", 14, "monitor"],
      ["cpus-taken", null, "monitor"],
    ]);
  });

  it("low clocks by heat are listed before an unexplained loss of the same size", () => {
    const load = { stealShare: null, otherCpuShare: 0.9, memoryPressureShare: 0 };
    for (let rate = 5; rate < 15; rate += 0.37) {
      const { machine, ...examination } = examinationOf(machineTree(), {
        health: { clockReasons: ["sw-thermal-slowdown"], link: { ...link, width: 8, smClockMHz: 300 } },
        measured: { pinned: rates(rate, rate), nodes: [] },
      });
      const activity = { load, swappedPages: 0 } as never;
      const { findings } = diagnose({ ...examination, machine: { ...machine, activity } }, diagnosisContext);
      const shown = findings.map(({ cause }) => cause);
      expect(shown.indexOf("clocks-held"), `${rate} GB/s`).toBeLessThan(shown.indexOf("unexplained"));
    }
  });

  it("clocks that are a tenth lower leave most of a large loss unexplained", () => {
    const { findings } = diagnosisOf({
      health: { clockReasons: ["sw-thermal-slowdown"], link: { ...link, smClockMHz: 1782 } },
      measured: { pinned: rates(27.7, 27.5), nodes: [] },
    });
    const [first, second] = findings;
    expect([first!.cause, second!.cause]).toEqual(["unexplained", "clocks-held"]);
    expect(first!.summary).toContain("slower than the findings explain");
    expect(second!.cost!.gigabytesPerSecond).toBeLessThan(5);
  });

  it("a slot of an older generation explains no loss below the rate expected over that slot", () => {
    const speeds = [rootPort, switchUpstream, switchDownstream].flatMap((port) =>
      ["max_link_speed", "current_link_speed"].map((file) => [pciFile(port, file), "16.0 GT/s PCIe\n"]),
    );
    const gen4 = { ...link, generation: 4, maxGeneration: 4 };
    const measured = { pinned: rates(20, 20), nodes: [] };
    const other = { expected: rates(26.8, 26.8) };
    const { findings } = diagnosisOf({ health: { link: gen4 }, measured, other }, Object.fromEntries(speeds));
    expect(findings.find(({ cause }) => cause === "unexplained")!.cost).toMatchObject({
      gigabytesPerSecond: expect.closeTo(6.8, 6),
    });
  });

  it("a link of 2 lanes does not explain copies a third below the limit of 2 lanes", () => {
    const narrow = (rate: number) =>
      diagnosisOf({
        health: { link: { ...link, width: 2 } },
        measured: { pinned: rates(rate, rate), nodes: [] },
      });
    const causesOf = ({ findings }: Diagnosis) =>
      findings.filter(({ weight }) => weight === "costs").map(({ cause }) => cause);
    // Two lanes allow 6.9 GB/s.
    expect(causesOf(narrow(4.6))).toEqual(["link-narrow", "unexplained"]);
    expect(causesOf(narrow(6.2))).toEqual(["link-narrow"]);
    expect(costsIn(narrow(4.6), "h2d")).toBeLessThanOrEqual(expected.h2d - 4.6);
  });

  it("a loss of registered copies does not explain a loss of pinned copies", () => {
    const { findings } = diagnosisOf(
      {
        measured: {
          pinned: rates(40, 40),
          nodes: [],
          registered: { rates: rates(25, 25), refused: null },
        },
      },
      { "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n" },
    );
    expect(findings.map(({ cause }) => cause)).toEqual(
      expect.arrayContaining(["huge-pages-off", "unexplained"]),
    );
    expect(findings.find(({ cause }) => cause === "huge-pages-off")!.cost!.copies).toBe("registered");
  });
});

describe("causes share one loss", () => {
  it("and the cause with the most certain bound takes its share first, in any order", () => {
    const { devices } = examinationOf(machineTree(), { measured: { pinned: rates(5.5, 5.5), nodes: [] } });
    const claims = [
      claimOf(0, "open"),
      claimOf(0.5, "at most"),
      claimOf(0.5, "limit"),
      claimOf(0.5, "measured"),
    ];
    const shared = (some: readonly Claim[]) =>
      shareLoss(
        { devices },
        some.map((claim) => ({
          ...{ cause: claim.bound, device: 0, weight: "costs", summary: "", evidence: [], cost: null },
          ...{ fix: null, sureness: "likely", claim },
        })),
      ).findings.map(({ cause, cost }) => [cause, cost?.gigabytesPerSecond]);
    const inOrder = shared(claims.toReversed());
    expect(shared(claims)).toEqual(inOrder.toReversed());
    const [first, second, third, open] = inOrder.map(([, cost]) => cost);
    expect([second, third]).toEqual([first, first]);
    expect(open).toBeLessThan(first as number);
  });

  it("and their costs never add up to more than the loss", () => {
    const rate = fc.double({ min: 0.5, max: 62, noNaN: true });
    const anyChange = fc.record({
      pinned: fc.tuple(rate, rate),
      node: fc.tuple(rate, rate),
      width: fc.constantFrom(1, 4, 8, 16),
      smClockMHz: fc.integer({ min: 100, max: 1980 }),
      reasons: fc.subarray(["sw-power-cap", "hw-thermal-slowdown"]),
      replays: fc.nat(1_000_000),
      isBusy: fc.boolean(),
      others: fc.nat(3),
      confidentialComputing: fc.boolean(),
      migEnabled: fc.boolean(),
    });
    fc.assert(
      fc.property(
        anyChange,
        ({ pinned, node, width, smClockMHz, reasons, replays, isBusy, others, ...health }) => {
          const diagnosis = diagnosisOf({
            health: { ...health, clockReasons: reasons, link: { ...link, width, smClockMHz } },
            after: { replays: 3 + replays },
            measured: { pinned: rates(...pinned), nodes: [{ node: 1, rates: rates(...node) }] },
            other: {
              others: Array.from({ length: others }, () => otherProgram({})),
              ...(isBusy && { activityBefore: busy }),
            },
          });
          for (const [i, way] of (["h2d", "d2h"] as const).entries()) {
            const best = Math.max(expected[way], node[i]!);
            expect(costsIn(diagnosis, way)).toBeLessThanOrEqual(Math.max(0, best - pinned[i]!) + 1e-6);
          }
          const costs = diagnosis.findings
            .filter(({ weight }) => weight === "costs")
            .map(({ cost }) => cost!.gigabytesPerSecond);
          expect(costs).toEqual(costs.toSorted((a, b) => b - a));
        },
      ),
      runs(200),
    );
  });
});

describe("slow copies are attributed to another process", () => {
  const finding = (cause: string, more: Partial<Found> = {}): Found => ({
    cause,
    device: 0,
    weight: "risk",
    summary: "",
    evidence: [cause],
    cost: null,
    fix: null,
    sureness: "likely",
    ...more,
  });
  const slow = finding("slow-copies", { cost: costOf({ h2d: 9 }, "measured", "slow") });

  it("that probably uses the same device, besides the cost to the median", () => {
    const own = costOf({ h2d: 20 }, "measured");
    const others = [finding("device-shared", { device: 1 }), finding("clocks-low")];
    const costing = { weight: "costs", evidence: ["device-shared", "slow-copies"] };
    for (const cost of [null, own]) {
      const { causes, rest } = blameSharing([finding("device-shared", { cost }), ...others], [slow]);
      expect(causes).toEqual([
        { ...finding("device-shared"), ...costing, cost: cost ?? slow.cost },
        ...others,
      ]);
      expect(rest).toEqual([]);
    }
  });

  it("but not to a process that only may use the device or uses another device", () => {
    const shared = [
      finding("device-shared", { sureness: "possible" }),
      finding("device-shared", { device: 1 }),
    ];
    expect(blameSharing(shared, [slow])).toEqual({ causes: shared, rest: [slow] });
  });
});

describe("a fact that the measured rate refutes is dropped:", () => {
  /** A bridge as QEMU presents it, on a machine that does not report a hypervisor. */
  const bridge = (width: string, speed: string): TreeFiles =>
    Object.fromEntries(
      [rootPort, switchUpstream].flatMap((port) => [
        [pciFile(port, "max_link_width"), `${width}\n`],
        [pciFile(port, "current_link_width"), `${width}\n`],
        [pciFile(port, "max_link_speed"), `${speed} GT/s PCIe\n`],
        [pciFile(port, "current_link_speed"), `${speed} GT/s PCIe\n`],
      ]),
    );

  it.each([
    ["of one lane", bridge("1", "2.5"), "gen1 x1"],
    ["of generation 4", bridge("16", "16.0"), "gen4 x16"],
  ])("a bridge %s, while copies reach 55 GB/s", (_, files, text) => {
    const { findings, verdict, unseen } = diagnosisOf({}, files);
    expect({ findings, verdict }).toEqual({ findings: [], verdict: "healthy" });
    expect(unseen.join("\n")).toContain(`${text}: copies were faster, so the report is wrong`);
  });

  it("a slot of generation 4 that NVML reports, in favour of the card's own link", () => {
    const device = examinationOf(machineTree(), {
      health: { link: { ...link, generation: 4, maxGeneration: 4 } },
    }).devices[0]!;
    const { path } = device;
    const compared = comparedWith(
      { ...device, path: { before: path, underLoad: path }, site: null } as never,
      false,
    );
    // An H100 at generation 5: 0.863 of 63 GB/s.
    expect(compared.expected.h2d).toBeCloseTo(0.863 * 63.015, 1);
    const { findings, devices } = diagnosisOf({
      health: { link: { ...link, generation: 4, maxGeneration: 4 } },
    });
    expect(findings).toEqual([]);
    expect(devices[0]!.link).toBeNull();
  });

  it("but not a bridge that copies are no faster than", () => {
    const { findings } = diagnosisOf(
      { measured: { pinned: rates(27.2, 27), nodes: [] } },
      bridge("16", "16.0"),
    );
    expect(findings[0]).toMatchObject({
      cause: "slot-narrow",
      cost: { gigabytesPerSecond: expect.any(Number) },
    });
  });
});
