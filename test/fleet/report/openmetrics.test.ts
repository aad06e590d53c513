import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { drawn } from "../../helpers/drawn.js";
import { buildFleet, buildLacking, buildOutlier } from "../../helpers/fleet.js";

const metrics = (...args: Parameters<typeof buildFleet>) =>
  drawn(fleetKind, buildFleet(...args), "openmetrics", fileScreen());

/** A line with a figure as both formats have it: a name, labels whose values escape backslash, quote and line feed, a number. */
const sampleForm =
  /^([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;

/** Throws for what is no text of OpenMetrics 1.0 with gauges alone; returns the samples. */
function parsed(text: string): { name: string; labels: Record<string, string>; value: number }[] {
  const lines = text.split("\n");
  expect(lines.slice(-2)).toEqual(["# EOF", ""]);
  const families: string[] = [];
  return lines.slice(0, -2).flatMap((line) => {
    const meta = /^# (TYPE|UNIT|HELP) ([a-z_]+) (.+)$/.exec(line);
    if (meta !== null) {
      const [, what, name = "", rest = ""] = meta;
      if (what === "TYPE") {
        expect(families, "no family comes in two pieces").not.toContain(name);
        expect(rest).toBe("gauge");
        families.push(name);
      }
      expect(families.at(-1)).toBe(name);
      if (what === "UNIT") expect(name.endsWith(`_${rest}`)).toBe(true);
      if (what === "HELP") expect(rest).not.toMatch(/["\\]/);
      return [];
    }
    const sample = sampleForm.exec(line);
    expect(sample, line).not.toBeNull();
    const [, name = "", labels = "", value] = sample!;
    expect(name).toBe(families.at(-1));
    const pairs = [...labels.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, quoted]) => [
      key,
      quoted!.replaceAll(/\\(.)/g, (_, sign) => (sign === "n" ? "\n" : sign)),
    ]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

describe("the gauges of a fleet", () => {
  const samples = parsed(
    metrics({
      nodes: ["n1", "n2", buildLacking("n3", "missing", "Nothing came.")],
      outliers: [buildOutlier("n2")],
      cleared: [buildOutlier("n1", { confirmed: false })],
    }),
  );
  const of = (name: string) => samples.filter((one) => one.name === name);

  it("are bytes a second and seconds of each GPU and cell", () => {
    expect(of("pinbench_bandwidth_bytes_per_second")).toHaveLength(8);
    expect(of("pinbench_bandwidth_bytes_per_second")).toContainEqual({
      name: "pinbench_bandwidth_bytes_per_second",
      labels: {
        host: "n2",
        gpu: "1",
        uuid: "GPU-n2-1",
        cell: "h2d/pinned/67108864/w1/throughput/wall/cold",
        direction: "h2d",
      },
      value: 27.7e9,
    });
    const latencies = of("pinbench_copy_latency_seconds").map(({ value }) => value);
    expect(latencies).toHaveLength(4);
    for (const latency of latencies) expect(latency).toBeCloseTo(7.2e-6, 7);
  });

  it("say of each GPU whether it is slow, and of each node what became of it", () => {
    expect(of("pinbench_fleet_outlier").map(({ labels, value }) => [labels.host, labels.gpu, value])).toEqual(
      [
        ["n1", "0", 0],
        ["n1", "1", 0],
        ["n2", "0", 0],
        ["n2", "1", 1],
      ],
    );
    expect(of("pinbench_node_state").map(({ labels }) => labels)).toEqual([
      { host: "n1", state: "measured" },
      { host: "n2", state: "measured" },
      { host: "n3", state: "missing" },
    ]);
    expect(of("pinbench_fleet_nodes").find(({ labels }) => labels.state === "late")?.value).toBe(0);
    expect(of("pinbench_fleet_judged_timestamp_seconds")[0]?.value).toBe(
      Date.UTC(2026, 10, 22, 9, 10) / 1000,
    );
  });

  it("have the direction of each figure, of which a cell may have two", () => {
    const fleet = buildFleet();
    const cell = "bidir/pinned/67108864/w1/throughput/wall/cold";
    for (const one of fleet.groups[0]!.cells.slice(0, 2)) one.cell = cell;
    const ofCell = parsed(drawn(fleetKind, fleet, "openmetrics", fileScreen())).filter(
      ({ labels }) => labels.cell === cell && labels.host === "n01" && labels.gpu === "0",
    );
    expect(ofCell.map(({ labels }) => labels.direction)).toEqual(["h2d", "d2h"]);
  });

  it("say that devices were emulated", () => {
    const value = (notice: string | null) =>
      parsed(metrics({ notice })).find(({ name }) => name === "pinbench_fleet_emulated")?.value;
    expect([value(null), value("Emulated.")]).toEqual([0, 1]);
  });

  it("count all GPUs of a node that is slow as a whole", () => {
    const slow = parsed(
      metrics({ nodes: ["n1", "n2"], outliers: [buildOutlier("n2", { device: null, uuid: null })] }),
    )
      .filter(({ name, value }) => name === "pinbench_fleet_outlier" && value === 1)
      .map(({ labels }) => `${labels.host}/${labels.gpu}`);
    expect(slow).toEqual(["n2/0", "n2/1"]);
  });

  it.each(['a"b', "a\\b", 'x"} 1\npinbench_node_state{host="n2', "\u001b[2J\u202e"])(
    "keep a hostile name within its label: %j",
    (host) => {
      const states = parsed(metrics({ nodes: [host] })).filter(({ name }) => name === "pinbench_node_state");
      expect(states).toHaveLength(1);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal would obey.
      expect(states[0]!.labels.host).not.toMatch(/[\x00-\x1f\u202e]/);
    },
  );
});
