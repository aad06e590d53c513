import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { drawn } from "../../helpers/drawn.js";
import {
  buildFleet,
  buildLacking,
  buildNode,
  buildOutlier,
  pinnedFrom,
  pinnedTo,
  smallCopy,
} from "../../helpers/fleet.js";

/** Rows by column; no test has a field with a comma in quotes. */
function rowsOf(...args: Parameters<typeof buildFleet>): Record<string, string>[] {
  const [head = "", ...lines] = drawn(fleetKind, buildFleet(...args), "csv", fileScreen())
    .trimEnd()
    .split("\n");
  const names = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((field, i) => [names[i]!, field])));
}

describe("a fleet as csv", () => {
  it("has a row a node, GPU and cell, with what its node is called and labelled", () => {
    const n1 = buildNode("n1", { labels: { rack: "7", row: "b" } });
    const rows = rowsOf({ nodes: [n1, "n2"], notice: "no GPUs" });
    expect(rows).toHaveLength(2 * 2 * 3);
    expect(rows[0]).toMatchObject({
      notice: "no GPUs",
      host: "n1",
      state: "measured",
      run_id: "run-n1",
      labels: "rack=7; row=b",
      group: "1",
      device: "0",
      uuid: "GPU-n1-0",
      link: "gen5 x16",
      moved: "h2d",
      unit: "GB/s",
      slow: "",
    });
  });

  it("says which figures are slow, of a GPU and of a node, and whether that was confirmed", () => {
    const rows = rowsOf({
      nodes: ["n1", "n2", "n3"],
      cleared: [buildOutlier("n3", { device: 0, confirmed: false })],
      outliers: [
        buildOutlier("n1"),
        buildOutlier("n2", {
          device: null,
          uuid: null,
          confirmed: true,
          cells: [{ ...smallCopy, figure: 9, centre: 7.2, change: -0.2, adjustedPValue: 0.001 }],
        }),
      ],
    });
    const slow = rows
      .filter((row) => row.slow !== "")
      .map((row) => [row.host, row.device, row.slow, row.confirmed, Number(row.adjusted_p_value)]);
    expect(slow).toEqual([
      ["n1", "1", "gpu", "", 1e-9],
      ["n3", "0", "gpu", "no", 1e-9],
      ["n2", "0", "node", "yes", 0.001],
      ["n2", "1", "node", "yes", 0.001],
    ]);
  });

  it("says of a GPU that is slower yet than its slow node what it is itself", () => {
    const cells = [{ ...pinnedTo, figure: 20, centre: 55.4, change: -0.6, adjustedPValue: 0.001 }];
    const outliers = [buildOutlier("n1", { cells }), buildOutlier("n1", { device: null, uuid: null, cells })];
    const slow = rowsOf({ nodes: ["n1", "n2"], outliers }).filter((row) => row.slow !== "");
    expect(slow.map((row) => [row.device, row.slow])).toEqual([
      ["0", "node"],
      ["1", "gpu"],
    ]);
  });

  it("has changes below 0 for what is slower, of rates and of times", () => {
    const rows = rowsOf({
      nodes: ["n1", "n2", "n3"],
      outliers: [
        buildOutlier("n2", {
          cells: [
            { ...pinnedFrom, figure: 26.5, centre: 53.1, change: -0.5, adjustedPValue: 0 },
            { ...smallCopy, figure: 14.4, centre: 7.2, change: -0.5, adjustedPValue: 0 },
          ],
        }),
      ],
    });
    const changes = rows.filter((row) => row.slow !== "").map((row) => Number(row.change));
    expect(changes).toHaveLength(2);
    for (const change of changes) expect(change).toBeCloseTo(-0.5, 2);
  });

  it("has one row for a node without figures", () => {
    const rows = rowsOf({ nodes: ["n1", buildLacking("n2", "late", "Too late.")] });
    expect(rows.filter(({ host }) => host === "n2")).toEqual([
      expect.objectContaining({ state: "late", reason: "Too late.", device: "", cell: "", figure: "" }),
    ]);
  });

  it("has no name that a spreadsheet would take for a formula", () => {
    expect(rowsOf({ nodes: ["=HYPERLINK(1)"] })[0]!.host).toBe("'=HYPERLINK(1)");
  });
});
