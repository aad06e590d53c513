import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fleet } from "../../src/index.js";
import { writeNodes } from "../helpers/recorded-nodes.js";
import { temporaryFolder } from "../helpers/run-cli.js";

/** Ten nodes, of which n03 copies 40 % slower from pinned memory to the device. */
function resultsOfTen(): string {
  const folder = join(temporaryFolder(), "results");
  const isSlow = (direction: string, memory: string) => direction === "h2d" && memory === "pinned";
  writeNodes(folder, 10, (host, { direction, memory }) =>
    host === "n03" && isSlow(direction, memory) ? 0.6 : 1,
  );
  return folder;
}

describe("fleet() of the library", () => {
  it("returns the document that --json prints", async () => {
    const folder = resultsOfTen();
    const { kind, nodes, outliers, rule } = await fleet({ results: folder });
    expect(kind).toBe("fleet");
    expect(nodes).toHaveLength(10);
    expect(outliers.map(({ host }) => host)).toEqual(["n03"]);
    expect(rule).toEqual({ significance: 0.01, threshold: 0.05 });
  });

  it("takes several paths, and the rule", async () => {
    const folder = resultsOfTen();
    const results = ["n01", "n02", "n03", "n04"].map((name) => join(folder, `${name}.json`));
    const { nodes, rule, outliers } = await fleet({ results, threshold: "50%", significance: 0.001 });
    expect(nodes).toHaveLength(4);
    expect(rule).toEqual({ significance: 0.001, threshold: 0.5 });
    expect(outliers).toEqual([]);
  });

  it("says what is wrong with an option", async () => {
    await expect(fleet({ results: [] })).rejects.toMatchObject({ kind: "usage" });
    await expect(fleet({ results: ["x", 7] } as never)).rejects.toThrow("must be a path, or a list of them");
    await expect(fleet({ results: temporaryFolder() })).rejects.toMatchObject({
      kind: "usage",
      message: expect.stringContaining("there is no result of a node"),
    });
    await expect(fleet({ results: "x", threshold: "much" })).rejects.toMatchObject({ kind: "usage" });
  });
});
