import { describe, expect, it } from "vitest";
import { figuresOfNode } from "../../src/fleet/node-figures.js";
import { joinResults } from "../../src/fleet/read-fleet.js";
import { judged, nodeResult, nodeResults, pinnedAt } from "../helpers/node-results.js";

/** Twelve nodes, of which n05 was measured on these days of November, with GPU 1 as fast as they say, and the others on the last. */
function since(days: Readonly<Record<string, number | null>>) {
  const results = Object.entries(days).map(([day, speed]) => {
    const run = { id: `run-of-${day}`, startedAt: `2026-11-${day}T09:00:00.000Z` };
    const result = nodeResult("n05", { speed: pinnedAt(speed ?? 1, 1), document: { run } });
    // Null is a day on which it failed.
    return speed === null ? { ...result, cells: [] } : result;
  });
  const others = nodeResults(12).filter(({ host }) => host!.hostname !== "n05");
  const nodes = joinResults([...others, ...results].map((result) => figuresOfNode(result, null)));
  const { outliers } = judged([], { nodes });
  expect(outliers.map(({ host, device }) => [host, device])).toEqual([["n05", 1]]);
  return outliers[0]!.since;
}
const on = (day: string) => `2026-11-${day}T09:00:00.000Z`;

describe("since when a GPU is slow", () => {
  it("is the earliest of its results in a row that show the loss, behind the last that does not", () => {
    expect(since({ "17": 0.5, "18": 1, "19": 0.5, "20": 0.55 })).toEqual({
      startedAt: on("19"),
      lastHealthy: on("18"),
    });
  });

  it("is the only result, or the first of all, if none shows it healthy", () => {
    expect(since({ "20": 0.5 })).toEqual({ startedAt: on("20"), lastHealthy: null });
    expect(since({ "18": 0.5, "20": 0.5 })).toEqual({ startedAt: on("18"), lastHealthy: null });
  });

  it("passes over results that have no figure of it", () => {
    expect(since({ "18": 1, "19": null, "20": 0.5 })).toEqual({ startedAt: on("20"), lastHealthy: on("18") });
  });

  it("is no day on which it had lost far less", () => {
    expect(since({ "18": 0.92, "20": 0.5 })).toEqual({ startedAt: on("20"), lastHealthy: on("18") });
  });
});
