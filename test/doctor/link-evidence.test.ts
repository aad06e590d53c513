import { describe, expect, it } from "vitest";
import { areReplaysRefuted } from "../../src/doctor/causes/link-causes.js";
import { limitOf, linksOf, speedText } from "../../src/doctor/causes/path-links.js";
import type { PciPort } from "../../src/doctor/facts/pci-path.js";
import { type DeviceChange, deviceWith, healthyHealth, rates } from "../helpers/examination.js";
import {
  deviceOnly,
  downstream,
  gpu,
  healthyExamination,
  healthyPath,
  link,
  root,
  saysOf,
  slow,
  slowText,
  unseen,
  upstream,
  withPorts,
} from "./cause-case.js";

/** Findings on the links between a device and the CPU: their wording and their thresholds. */

const halfRate = { pinned: rates(27.7, 27.6), nodes: [] };

describe("the links on a device's PCIe path", () => {
  const linksWith = (change: DeviceChange) => linksOf(deviceWith(healthyPath, 0, change));
  const slowest = { pinned: rates(1, 1), nodes: [] };
  const unknown = { generation: null, width: null, maxGeneration: null, maxWidth: null };

  it("are the device's own link and those between the bridges above it", () => {
    const { links, asIs, best, card, expectedFor } = linksWith(
      withPorts([{}, {}, { width: 4, maxGeneration: 4 }, { width: 8, maxWidth: 8 }], { measured: slowest }),
    );
    expect(
      links.map(({ below, above, isDevices, now, best }) => [
        below,
        above,
        isDevices,
        speedText(now),
        speedText(best),
      ]),
    ).toEqual([
      [gpu.name, downstream.name, true, "gen5 x16", "gen5 x16"],
      [upstream.name, root.name, false, "gen5 x4", "gen4 x8"],
    ]);
    expect(asIs).toBe(limitOf({ generation: 5, width: 4 }));
    expect(best).toBe(limitOf({ generation: 4, width: 8 }));
    expect(card).toBe(limitOf({ generation: 5, width: 16 }));
    expect(expectedFor).toBe(card);
  });

  it("have the lower speed of both ends, or the only known one", () => {
    const of = (...ports: Partial<PciPort>[]) =>
      linksWith(withPorts(ports, { measured: slowest, ...unseen })).links.map(
        ({ now, best }) => `${speedText(now)} of ${speedText(best)}`,
      );
    expect(of({ width: 8, maxWidth: 16 }, { width: 4, maxWidth: 8 })).toEqual([
      "x4 of gen5 x8",
      "gen5 x16 of gen5 x16",
    ]);
    expect(of({ width: null, maxGeneration: 3 }, { width: 4, maxGeneration: null })[0]).toBe(
      "x4 of gen3 x16",
    );
    expect(of(unknown, unknown)[0]).toBe(" of ");
    expect(of({}, {}, unknown, { ...unknown, width: 2 })[1]).toBe("x2 of ");
    expect(of({}, {}, { generation: 3 }, { generation: 4 })[1]).toBe("gen3 x16 of gen5 x16");
  });

  it("have NVML's speed under load rather than sysfs' speed at rest", () => {
    const { links, cardSpeed } = linksWith(
      withPorts([{ width: 16, generation: 1, maxGeneration: 5 }], {
        health: { link: { ...link, width: 8, generation: 4 }, cardMaxGeneration: 6 },
        measured: slowest,
      }),
    );
    expect(links[0]!.now).toEqual({ generation: 4, width: 8 });
    expect(cardSpeed).toEqual({ generation: 6, width: 16 });
  });

  it("are doubted if copies are more than 5 % faster, on any NUMA node and in any direction", () => {
    const x8 = limitOf({ generation: 5, width: 8 })!;
    const refutedBy = (pinned: [number | null, number | null], node: [number | null, number | null]) =>
      linksWith({
        health: { link: { ...link, width: 8 } },
        measured: { pinned: rates(...pinned), nodes: [{ node: 1, rates: rates(...node) }] },
      }).refuted;
    const told = [`${gpu.name}: gen5 x8`];
    expect(refutedBy([x8 * 1.049, null], [null, 1])).toEqual([]);
    expect(refutedBy([x8 * 1.051, null], [null, 1])).toEqual(told);
    expect(refutedBy([1, x8 * 1.051], [1, 1])).toEqual(told);
    expect(refutedBy([1, 1], [x8 * 1.051, null])).toEqual(told);
    expect(refutedBy([1, 1], [null, x8 * 1.051])).toEqual(told);
  });

  it("are the device's own alone, if sysfs shows no port", () => {
    const { links, asIs } = linksWith({
      other: { path: { ...healthyPath, ports: [] } },
      health: { link: null, cardMaxGeneration: null },
    });
    expect(links).toMatchObject([{ below: "the device", above: null }]);
    expect(asIs).toBeNull();
  });
});

describe("a link that has trained down", () => {
  const narrow = (change: DeviceChange, machine = {}) => saysOf("link-narrow", machine, change);
  const x8 = { health: { link: { ...link, width: 8 } }, measured: halfRate };

  it("is reported with both its ends and with the share of bandwidth that it leaves", () => {
    expect(narrow(x8)).toMatchObject([
      {
        summary: "The device's PCIe link runs at gen5 x8 during copies; card and slot support gen5 x16.",
        evidence: [`${gpu.name} to ${downstream.name}: gen5 x8 of gen5 x16`],
        claim: { leaves: { h2d: expect.closeTo(0.5), d2h: expect.closeTo(0.5) }, bound: "limit" },
        fix: expect.stringContaining("reseat the card"),
        sureness: "certain",
      },
    ]);
    const [alone] = narrow(deviceOnly({}, x8));
    expect(alone!.evidence).toEqual([`${gpu.name}: gen5 x8 of gen5 x16`]);
    const [guest] = narrow(deviceOnly({}, x8), { host: { virtualization: "kvm" } });
    expect(guest).toMatchObject({
      summary: expect.stringContaining("the card supports"),
      sureness: "likely",
    });
  });

  it("is reported as a switch's if the switch's link is the slowest of several", () => {
    const [found] = narrow(
      withPorts([{}, {}, { width: 2 }, { width: 2 }], {
        health: { link: { ...link, width: 8 } },
        measured: { pinned: rates(6, 6), nodes: [] },
      }),
    );
    expect(found).toMatchObject({
      summary: "A link between the device and the CPU runs at gen5 x2; both its ends support gen5 x16.",
      evidence: [expect.stringContaining("gen5 x8"), `${upstream.name} to ${root.name}: gen5 x2 of gen5 x16`],
      claim: { leaves: { h2d: expect.closeTo(1 / 8) } },
      fix: expect.stringContaining("Have the board between card and CPU checked"),
    });
  });

  it("is reported if one direction was measured, but not without copies or without PCIe", () => {
    const other = (change: DeviceChange) => narrow({ ...x8, ...change });
    expect(other({ measured: { pinned: rates(null, 27), nodes: [] } })).toHaveLength(1);
    expect(other({ measured: { pinned: rates(27, null), nodes: [] } })).toHaveLength(1);
    expect(other({ measured: { pinned: rates(null, null), nodes: [] } })).toEqual([]);
    expect(other({ facts: { integrated: true } })).toEqual([]);
    expect(other({ health: { ...x8.health, c2cLinks: 1 } })).toEqual([]);
    expect(other({ health: { link: { ...link, width: null as never } } })).toEqual([]);
  });
});

describe("packets that were sent again", () => {
  it.each([
    [2, false],
    [3, true],
  ])("prove their counter wrong if one 64-byte copy cannot cause that many: %d, %s", (replays, isWrong) => {
    const [device] = healthyExamination().devices;
    const health = {
      ...device!.health,
      before: { ...healthyHealth, replays: 0 },
      after: { ...healthyHealth, replays },
    };
    const copied = { made: 1, proven: 1, provenH2d: 1, provenD2h: 0, bytes: 64 };
    expect(areReplaysRefuted({ ...device!, health, copied })).toBe(isWrong);
  });
});

describe("a slot that can do less than the card", () => {
  const slot = (change: DeviceChange) => saysOf("slot-narrow", {}, change);

  it("costs the share of its missing lanes", () => {
    const found = slot(
      withPorts([{ width: 8 }, { width: 8, maxWidth: 8 }], {
        health: { link: { ...link, width: 8, maxWidth: 8 } },
        measured: halfRate,
      }),
    );
    expect(found).toMatchObject([
      {
        weight: "costs",
        summary: "The card supports gen5 x16, its slot only gen5 x8.",
        evidence: [`${gpu.name} to ${downstream.name}: gen5 x8 at most; the card alone: gen5 x16`],
        claim: { leaves: { h2d: expect.closeTo(0.5) }, bound: "limit" },
        fix: expect.stringContaining("Move the card to a slot with 16 lanes"),
      },
    ]);
  });

  it("with fewer lanes costs bandwidth, even if its generation is older too", () => {
    const slower = { generation: 4, maxGeneration: 4, width: 8, maxWidth: 8 };
    const found = slot(
      withPorts([{ width: 8, generation: 4 }, slower], {
        health: { link: { ...link, ...slower } },
        measured: { pinned: rates(13, 13), nodes: [] },
      }),
    );
    expect(found).toMatchObject([{ weight: "costs", fix: expect.stringContaining("16 lanes") }]);
  });

  it("of an older generation is an explanation without a cost if copies are as fast as expected", () => {
    const older = (pinned: [number, number]) =>
      slot(
        deviceOnly(
          { generation: 4 },
          {
            health: { link: { ...link, generation: 4, maxGeneration: 4 } },
            measured: { pinned: rates(...pinned), nodes: [] },
            other: { expected: rates(27.2, 27) },
          },
        ),
      );
    const [reaching] = older([27.2, 27]);
    expect(reaching).toMatchObject({
      weight: "explains",
      evidence: ["card and slot together: gen4 x16 at most; the card alone: gen5 x16"],
      fix: null,
    });
    expect(reaching).not.toHaveProperty("claim");
    // The expected rate already is the slot's.
    expect(older([20, 20])).toMatchObject([{ claim: { leaves: { h2d: 1, d2h: 1 }, bound: "limit" } }]);
  });

  it("may be a bridge's link, and is no finding if a link is even narrower now", () => {
    const bridge = (width: number) =>
      withPorts([{}, {}, { width, maxWidth: 8 }, { width, maxWidth: 8 }], {
        measured: { pinned: rates(13, 13), nodes: [] },
      });
    expect(slot(bridge(8))).toMatchObject([
      { summary: "The card supports gen5 x16, its bridge above the slot only gen5 x8." },
    ]);
    expect(slot(bridge(4))).toEqual([]);
    expect(slot({})).toEqual([]);
    expect(slot({ ...bridge(8), facts: { integrated: true } })).toEqual([]);
  });
});

describe("errors of a link", () => {
  const errors = (change: DeviceChange) => saysOf("link-errors", {}, change);

  it("are a risk from the eleventh on, by either counter", () => {
    expect(errors({ after: { replays: 13 }, other: { correctableErrors: 10 } })).toEqual([]);
    expect(errors({ after: { replays: 14 }, other: { correctableErrors: 1 } })).toMatchObject([
      {
        weight: "risk",
        evidence: [
          "11 packets sent again while copies ran (NVML's replay counter)",
          "1 errors corrected by the ports of the path (AER)",
        ],
      },
    ]);
    expect(errors({ other: { correctableErrors: 11 } })).toMatchObject([
      { evidence: ["11 errors corrected by the ports of the path (AER)"] },
    ]);
    for (const change of [{ before: { replays: null } }, { after: { replays: null } }]) {
      expect(errors({ ...change, other: { correctableErrors: null } })).toEqual([]);
    }
  });

  it("cost at most the time of 62 000 symbols each: the replay timer, and the packet again", () => {
    // 4000 errors of 62 000 symbols in 16 lanes are 3.968 GB beside 20 GB: 0.8344 is left of 44 GB/s.
    expect(errors({ after: { replays: 4003 }, measured: slow })).toMatchObject([
      {
        weight: "costs",
        evidence: [expect.any(String), slowText(), "these errors take at most 17 % of the time"],
        claim: {
          leaves: { h2d: expect.closeTo(20 / 23.968), d2h: expect.closeTo(20 / 23.968) },
          bound: "at most",
        },
      },
    ]);
  });

  it("have an unknown cost if the number of lanes is unknown", () => {
    const [found] = errors({ after: { replays: 4003 }, measured: slow, health: { link: null } });
    expect(found).toMatchObject({ weight: "risk" });
    expect(found!.evidence).toHaveLength(2);
    expect(found).not.toHaveProperty("claim");
  });

  it("that were not corrected are reported port by port", () => {
    const counts = (nonFatal: number, fatal: number) => ({ errors: { correctable: 9, nonFatal, fatal } });
    const found = saysOf(
      "link-uncorrected",
      {},
      withPorts([counts(0, 0), counts(2, 0), { errors: null }, counts(0, 1)]),
    );
    expect(found).toMatchObject([
      {
        evidence: [
          `${downstream.name}: 2 non-fatal and 0 fatal errors since boot (AER)`,
          `${root.name}: 0 non-fatal and 1 fatal errors since boot (AER)`,
        ],
      },
    ]);
  });
});
