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

describe("half of the nodes that are slower, and have something else, are noted, though they are judged by themselves", () => {
  const notes = (times: number, own: Record<string, string | null>, { gpus = 1, back = 1 } = {}) => {
    const nodes = nodesOf(
      16,
      (node) => {
        const isOwn = node < 8;
        const pinned = 50 * (isOwn ? times : 1) * wobble(node);
        const figures = { pinned, back: 50 * (isOwn ? back : 1) * wobble(node), pageable: isOwn ? 5 : 10 };
        return Array.from({ length: isOwn ? 1 : gpus }, () => figures);
      },
      (node) => ({ facts: { ...facts, gpuCount: String(node < 8 ? 1 : gpus), ...(node < 8 && own) } }),
    );
    return judged([], { nodes }).groups.flatMap((group) => group.notes);
  };
  const slower = "Its GPUs are 8 % slower than those of group 2 in h2d pinned 64 MiB";

  it.each([
    ["another driver", { driver: "550" }, 1, "driver 550 instead of 580"],
    ["a driver that is not known", { driver: null }, 1, "driver not known instead of 580"],
    ["fewer GPUs", {}, 2, "number of GPUs 1 instead of 2"],
  ])("%s", (_, own, gpus, apart) => {
    expect(notes(0.92, own, { gpus })).toEqual([`${slower}; ${apart}.`]);
  });

  it("by the cell with the largest loss, if that counts, beside nodes that are alike in all else", () => {
    expect(notes(0.92, { driver: "550" }, { back: 0.7 })).toEqual([
      expect.stringMatching(/^Its GPUs are 30 % slower than those of group 2 in d2h pinned 64 MiB; /),
    ]);
    expect(notes(0.97, { driver: "550" })).toEqual([]);
    expect(notes(0.92, { driver: "550", cpu: "EPYC" })).toEqual([]);
  });
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
