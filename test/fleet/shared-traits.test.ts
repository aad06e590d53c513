import { describe, expect, it } from "vitest";
import { judged, nodeResults, pinnedAt } from "../helpers/node-results.js";
import { facts, nodesOf, wobble } from "../helpers/plain-nodes.js";
import { buildLink } from "../helpers/result-document.js";

describe("what slow nodes have in common", () => {
  const fleet = (rackOf: (node: number) => string) => {
    const parts = Object.fromEntries(
      nodeResults(24).map(({ host }, node) => [
        host!.hostname,
        {
          speed: pinnedAt(node < 4 ? 0.5 : 1),
          document: { run: { labels: { rack: rackOf(node), serial: `s${node}` } } },
        },
      ]),
    );
    return judged(nodeResults(24, parts));
  };

  it("is reported: the rack that all of them are in and no other node", () => {
    const { shared, outliers } = fleet((node) => (node < 4 ? "r3" : `r${4 + (node % 4)}`));
    expect(outliers).toHaveLength(4);
    expect(shared.map(({ reason }) => reason)).toEqual([
      "All 4 slow nodes have rack r3, and no healthy node does.",
    ]);
  });

  it("is nothing if chance puts as many of them into a rack", () => {
    expect(fleet((node) => `r${node % 2}`).shared).toEqual([]);
    expect(fleet(() => "r1").shared).toEqual([]);
  });
});

it("a driver of half of the nodes that is slower is noted, though its nodes are judged by themselves", () => {
  const notes = (times: number, cpu = "Xeon") => {
    const nodes = nodesOf(
      16,
      (node) => [{ pinned: 50 * (node < 8 ? times : 1) * wobble(node), pageable: node < 8 ? 5 : 10 }],
      (node) => ({ facts: { ...facts, gpuCount: "1", ...(node < 8 && { driver: "550", cpu }) } }),
    );
    return judged([], { nodes }).groups.flatMap((group) => group.notes);
  };
  expect(notes(0.92)).toEqual([
    expect.stringMatching(
      /^Its GPUs are 8 % slower than those of group [12] in h2d pinned 64 MiB; driver 550 instead of 580\.$/,
    ),
  ]);
  expect(notes(0.97)).toEqual([]);
  expect(notes(0.92, "EPYC")).toEqual([]);
});

describe("what to do", () => {
  it("is to reset a GPU whose link has trained down, to isolate other slow ones, and to watch small losses", () => {
    const narrow = (gpu: number) =>
      gpu === 1
        ? {
            link: buildLink({ width: 8 }),
          }
        : {};
    const { outliers } = judged(
      nodeResults(12, {
        n01: { speed: pinnedAt(0.5, 1), device: narrow },
        n02: { speed: pinnedAt(0.5, 0) },
        n03: { speed: pinnedAt(0.92, 0) },
      }),
    );
    expect(outliers.map(({ host, action }) => [host, action]).sort()).toEqual([
      ["n01", "reset"],
      ["n02", "isolate"],
      ["n03", "monitor"],
    ]);
  });
});
