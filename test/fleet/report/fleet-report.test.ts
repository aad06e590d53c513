import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import type { FleetDocument } from "../../../src/fleet/fleet-document.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { blocksOf, drawn, reportOf } from "../../helpers/drawn.js";
import {
  buildFleet,
  buildLacking,
  buildMixedFleet,
  buildNode,
  buildOutlier,
  pinnedTo,
  smallCopy,
} from "../../helpers/fleet.js";

const wide = fileScreen({ columns: 1000 });
const table = (...args: Parameters<typeof buildFleet>) =>
  drawn(fleetKind, buildFleet(...args), "table", wide);
/** The sentences that stand first, each on one line: running text is never wider than can be read. */
const answerOf = (text: string) =>
  (text.replaceAll(/\n {3}(?=\S)/g, " ").match(/^=> .*/gm) ?? []).map((line) => line.slice(3));

describe("the answer of a fleet", () => {
  it("says how many nodes are slow, and names the slowest with the part that is slow and by how much", () => {
    expect(answerOf(drawn(fleetKind, buildMixedFleet(), "table", wide))).toEqual([
      "2 of 96 measured nodes are slow: GPU 1 of n007 (50.0 % slower in H2D pinned 64 MiB x1, since 2026-11-20 09:00 UTC; isolate) and all GPUs of n042 (11.1 % slower in D2H pinned 64 MiB x1, since 2026-11-22 09:00 UTC or before; isolate)",
      "1 node copied wrong data: n100 (copies of GPU 0 came back wrong at 2026-11-22 09:00 UTC): isolate",
      "3 of 100 nodes have no valid result: 1 late (n097) and 2 missing (n[098-099]): reset, then measure again",
    ]);
  });

  it("counts several slow GPUs of a node as one node", () => {
    const less = { ...buildOutlier("n02", { device: 0 }), action: "monitor" as const };
    const cells = [{ ...less.cells[0]!, change: -0.06 }];
    const since = { startedAt: "2026-11-21T09:00:00.000Z", lastHealthy: "2026-11-20T09:00:00.000Z" };
    const outliers = [{ ...less, cells }, buildOutlier("n02", { since })];
    expect(answerOf(table({ outliers }))[0]).toBe(
      "1 of 4 nodes is slow: GPU 1 and 1 more GPU of n02 (50.0 % slower in H2D pinned 64 MiB x1, since 2026-11-21 09:00 UTC; isolate)",
    );
  });

  it("says that all GPUs of a node are slow, if one is slower yet", () => {
    const cells = [{ ...pinnedTo, figure: 40, centre: 50, change: -0.2, adjustedPValue: 0 }];
    const outliers = [buildOutlier("n02", { device: 2 }), buildOutlier("n02", { device: null, cells })];
    expect(answerOf(table({ outliers }))[0]).toMatch(/: all GPUs, GPU 2 most, of n02 \(50\.0 % slower/);
  });

  it("names three nodes, and counts the others", () => {
    const nodes = ["n1", "n2", "n3", "n4", "n5"];
    const [first = ""] = answerOf(table({ nodes, outliers: nodes.map((host) => buildOutlier(host)) }));
    expect(first).toMatch(/^5 of 5 nodes are slow: GPU 1 of n1 .* GPU 1 of n3 \(.*; isolate\) and 2 more$/);
  });

  it("is that none is slow, or that so few nodes cannot tell", () => {
    expect(answerOf(table())).toEqual(["none of 4 nodes (8 GPUs) is slow"]);
    const nothing = { memory: "pinned", cells: 2, inOneCell: null, inAllCells: null, belowReference: null };
    const tooFew = "2 nodes of this kind are too few.";
    const few = table({ nodes: ["n1", "n2"], group: { tooFew, found: [nothing] } });
    expect(answerOf(few)).toEqual(["no node is called slow: 2 are too few to judge"]);
    expect(few).toContain("2 nodes of this kind are too few");
  });

  it("is that none is slower than others, where nobody knows what their kind reaches", () => {
    const ofOthers = { memory: "pinned", cells: 2, inOneCell: 0.1, inAllCells: null, belowReference: null };
    for (const tooFew of [null, "4 nodes of this kind are few."]) {
      expect(answerOf(table({ group: { tooFew, found: [ofOthers] } }))).toEqual([
        "none of 4 nodes (8 GPUs) is slower than similar ones",
      ]);
    }
  });

  it("says of a single node whether a GPU of it is slow, or that this is too few to judge", () => {
    const one = (found: Partial<FleetDocument["groups"][number]["found"][number]>, part = {}) => {
      const ways = { memory: "pinned", cells: 2, inOneCell: 0.1, inAllCells: null, belowReference: 0.05 };
      return answerOf(
        table({ nodes: ["n1"], group: { tooFew: "It is one.", found: [{ ...ways, ...found }], ...part } }),
      )[0];
    };
    expect(one({})).toBe("the only node (2 GPUs) is not slow");
    expect(one({ belowReference: null })).toBe("the only node (2 GPUs) has no GPU slower than the others");
    expect(one({ inOneCell: null, belowReference: null })).toBe(
      "no node is called slow: one is too few to judge",
    );
  });

  it("asks for a look at the run, if most nodes left no result, and to measure again what cannot be read", () => {
    const missing = (...hosts: string[]) =>
      hosts.map((host) => buildLacking(host, "missing", "Nothing came."));
    const broken = buildLacking("x", "unreadable", "x.json is not JSON.");
    expect(answerOf(table({ nodes: ["n1", "n2", ...missing("n3"), broken] })).slice(1)).toEqual([
      "1 of 4 nodes has no valid result: 1 missing (n3): reset, then measure again",
      "1 result cannot be read: x: measure again",
    ]);
    expect(answerOf(table({ nodes: ["n1", ...missing("n3", "n4")] }))[1]).toBe(
      "2 of 3 nodes have no valid result: 2 missing (n[3-4]): look at the run first",
    );
    // A run that measured all but a GPU of each has not failed.
    const inPart = ["n1", "n2"].map((host) => buildLacking(host, "incomplete", "It has 1 GPU."));
    expect(answerOf(table({ nodes: ["n0", ...inPart, ...missing("n3")] })).at(-1)).toBe(
      "1 of 4 nodes has no valid result: 1 missing (n3): reset, then measure again",
    );
  });

  it("has what copied wrong data, and of more than two nodes their names alone", () => {
    const wrong = (count: number) =>
      answerOf(
        table({
          nodes: [
            "n1",
            ...Array.from({ length: count }, (_, i) =>
              buildLacking(`w${i}`, "wrong data", `copies of GPU ${i} came back wrong`),
            ),
          ],
        }),
      )[1];
    expect(wrong(2)).toBe(
      "2 nodes copied wrong data: w0 (copies of GPU 0 came back wrong) and w1 (copies of GPU 1 came back wrong): isolate",
    );
    expect(wrong(4)).toBe("4 nodes copied wrong data: w[0-3]: isolate");
  });

  it("asks to reset nodes that lack a GPU, and only to measure again those with impossible figures", () => {
    const lost = buildLacking("n2", "incomplete", "it has 1 GPU");
    const fast = { ...buildLacking("n3", "incomplete", "it is too fast"), action: "monitor" as const };
    const text = table({ nodes: ["n1", fast, lost] });
    expect(text).toMatch(/ 1 +n3 +it is too fast +monitor\n.* 1 +n2 +it has 1 GPU +reset\n/);
    expect(answerOf(text).slice(1)).toEqual([
      "1 node measured in part: n3 (it is too fast): measure again",
      "1 node measured in part: n2 (it has 1 GPU): reset, then measure again",
    ]);
  });

  it("has a loss over all cells of a kind beside that of the slowest cell", () => {
    const together = { memory: "pinned", cells: 30, change: -0.06 };
    expect(answerOf(table({ outliers: [buildOutlier("n02", { together })] }))[0]).toContain(
      "(50.0 % slower in H2D pinned 64 MiB x1, 6.0 % over all 30 pinned cells; isolate)",
    );
  });

  it("has two sentences on what many have in common, and the others are notes", () => {
    const place = (slot: number) => ({
      place: `${slot}`,
      nodes: 4,
      of: 4,
      change: -0.5,
      reason: `Slot ${slot} is slow.`,
      action: "monitor" as const,
    });
    const text = table({ group: { slowPlaces: [0, 1, 2, 3].map(place), slowAsAWhole: "All are slow." } });
    expect(answerOf(text).slice(1)).toEqual(["Slot 0 is slow", "Slot 1 is slow"]);
    expect(text.match(/Slot 0 is slow/g)).toHaveLength(1);
    expect(text).toMatch(/^ *Slot 3 is slow$/m);
    expect(text).toMatch(/^ *All are slow$/m);
  });

  it("has five sentences, or with more nodes that left no figures one on doubts, and the others are notes", () => {
    const doubts = ["A clock is wrong.", "A result is old."];
    const group = { slowAsAWhole: "All are slow." };
    const lacking = (["wrong data", "missing", "unreadable", "incomplete"] as const).map((state, i) =>
      buildLacking(`x${i}`, state, "It is so."),
    );
    const remarks = (count: number) => {
      const text = table({ nodes: ["n1", "n2", "n4", ...lacking.slice(0, count)], group, doubts });
      expect(text).toMatch(/^ *(=> )?All are slow$/m);
      return answerOf(text).slice(1 + count);
    };
    expect([1, 2, 3, 4].map(remarks)).toEqual([
      ["A clock is wrong", "A result is old", "All are slow"],
      ["A clock is wrong", "A result is old"],
      ["A clock is wrong"],
      ["A clock is wrong"],
    ]);
  });

  it("says that nothing could be judged", () => {
    const nodes = [buildLacking("n1", "missing", "Nothing came.")];
    expect(answerOf(table({ nodes }))).toEqual([
      "no node has figures to judge",
      "1 of 1 node has no valid result: 1 missing (n1): look at the run first",
    ]);
  });

  it("tells a group that is slow as a whole, and one that falls into two parts", () => {
    const group = {
      slowAsAWhole: "It reaches 71 % of what healthy machines do.",
      slowPart: {
        hosts: ["n01", "n02"],
        reason: "The nodes fall into two parts.",
        action: "monitor" as const,
      },
    };
    expect(answerOf(table({ group })).slice(1)).toEqual([
      "The nodes fall into two parts",
      "It reaches 71 % of what healthy machines do",
    ]);
  });
});

describe("the tables of a fleet", () => {
  it("have what was cleared behind what is slow, and say what measuring again has found", () => {
    const text = drawn(fleetKind, buildMixedFleet(), "table", wide);
    expect(text).toMatch(/n007 .* slow again .* isolate\n.*n042 .* slow again .*\n.*n063 .* not slow .*\n/);
    expect(table({ outliers: [buildOutlier("n01")] })).not.toMatch(/ again$/m);
    expect(text).toContain("evidence: its link ran at gen5 x8, and those of its group at gen5 x16 (n007)\n");
    expect(text).toContain(" 1 GPU or node not slow when measured again: not counted\n");
    const [slow] = blocksOf(reportOf(fleetKind, buildMixedFleet()), "table");
    expect(slow!.grid.rows.map((row) => row[2]!.tone)).toEqual(["failure", "failure", "muted"]);
  });

  it("are followed by notes on nodes, and by evidence, with the name of each node once", () => {
    const outliers = [0, 1].map((device) =>
      buildOutlier("n 2", { device, evidence: ["its link is narrow"] }),
    );
    const nodes = ["n01", buildNode("n 2", { notes: ["an older result does not count"] }), "n03", "n04"];
    const text = table({ nodes, outliers });
    expect(text).toContain(" evidence: its link is narrow (n 2)\n");
    expect(text).toContain(" note: an older result does not count (n 2)\n");
  });

  it("follow how many nodes there are of each state, and when they were measured", () => {
    const text = drawn(fleetKind, buildMixedFleet(), "table", wide);
    expect(text).toMatch(/ Nodes +100: 96 measured, 1 late, 2 missing and 1 wrong data\n/);
    expect(text).toMatch(/ Measured +2026-11-22 09:00 UTC\n/);
    // Of cells with a reference.
    expect(text).toMatch(/ H2D pinned 64 MiB x1 .* 99\.4 %\n/);
  });

  it("have nodes without a valid result by reason, their names compressed", () => {
    const nodes = ["n1", ...["n2", "n3", "n5"].map((host) => buildLacking(host, "missing", "Nothing came."))];
    expect(table({ nodes })).toMatch(/missing +3 +n\[2-3,5\] +Nothing came\./);
  });

  it("name the first of very many nodes, and names that are none as they are", () => {
    const hosts = Array.from({ length: 40 }, (_, i) => `n${3 * i + 10}`);
    const lacking = (names: readonly string[]) =>
      table({ nodes: ["n1", ...names.map((host) => buildLacking(host, "late", "Too late."))] });
    expect(lacking(hosts)).toMatch(/late +40 +n10, n13, n16 and 37 more +Too late\./);
    expect(lacking(["n 2", "n3"])).toMatch(/late +2 +n 2, n3 +Too late\./);
    const three = ["a", "b", "c"].map((rack) => `gpu-h200-${rack}-of-the-left`);
    expect(lacking(three)).toMatch(new RegExp(`late +3 +${three.join(",")} +Too late\\.`));
  });

  it("call cells by their ids if these are asked for", () => {
    const outliers = [buildOutlier("n01")];
    const text = drawn(
      fleetKind,
      buildFleet({ outliers }),
      "table",
      fileScreen({ columns: 400, showsIds: true }),
    );
    expect(text).toContain(` ${pinnedTo.cell} `);
    expect(text).not.toContain("d0/");
  });

  it("follow the losses that are found, in one cell, in all of them, and below healthy machines", () => {
    const found = { memory: "pinned", cells: 2, inOneCell: 0.062, inAllCells: 0.03, belowReference: 0.056 };
    const none = { memory: "pageable", cells: 1, inOneCell: null, inAllCells: null, belowReference: null };
    expect(table({ group: { found: [found, none] } })).toMatch(
      / Finds losses of +pinned 3\.0 % in all 2 cells or 6\.2 % in one cell or 5\.6 % below healthy machines of its kind; pageable none\n/,
    );
  });

  it("show times in microseconds, with how much slower they make a copy", () => {
    const cells = [{ ...smallCopy, figure: 14.4, centre: 7.2, change: -0.5, adjustedPValue: 0 }];
    expect(table({ outliers: [buildOutlier("n01", { cells })] })).toMatch(
      /n01 +1 +50\.0 % +H2D pinned 4 KiB x1 latency +14\.4 µs +7\.20 µs/,
    );
  });

  it("tell one direction of a cell from the other", () => {
    const cell = "bidir/pinned/67108864/w1/throughput/wall/cold";
    const cells = [{ ...pinnedTo, cell, figure: 20, centre: 40, change: -0.5, adjustedPValue: 0 }];
    const fleet = buildFleet({ outliers: [buildOutlier("n01", { cells })] });
    fleet.groups[0]!.cells[0]!.cell = cell;
    expect(drawn(fleetKind, fleet, "table", wide)).toContain("H2D+D2H pinned 64 MiB x1, of these H2D");
    const ids = fileScreen({ columns: 1000, showsIds: true });
    expect(drawn(fleetKind, fleet, "table", ids)).toContain(`${cell}, of these h2d`);
  });
});

it("none of nodes that are slow as a whole is called healthy", () => {
  const fleet = buildFleet({});
  expect(drawn(fleetKind, fleet, "table", wide)).toMatch(/none of \d+ nodes \(\d+ GPUs\) is slow$/m);
  const similar = /none of \d+ nodes \(\d+ GPUs\) is slower than similar ones$/m;
  fleet.groups[0]!.slowAsAWhole = "All of them together are slow.";
  expect(drawn(fleetKind, fleet, "table", wide)).toMatch(similar);
  const place = {
    place: "1",
    nodes: 4,
    of: 4,
    change: -0.5,
    reason: "Slot 1 is slow.",
    action: "monitor",
  } as const;
  expect(table({ group: { slowPlaces: [place] } })).toMatch(similar);
});

it("a fleet as JSON is the document itself", () => {
  const fleet = buildMixedFleet();
  expect(JSON.parse(drawn(fleetKind, fleet, "json", wide))).toEqual(fleet);
});
