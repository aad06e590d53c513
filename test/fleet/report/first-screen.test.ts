import { expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import type { DeviceFigures, NodeFigures } from "../../../src/fleet/node-figures.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { expectationOf as referenceOf } from "../../../src/reference/expectation.js";
import { drawn } from "../../helpers/drawn.js";
import { judged } from "../../helpers/node-results.js";
import { facts, fleetNode } from "../../helpers/plain-nodes.js";
import { seeded } from "../../helpers/seeded.js";

const { uniform, normal } = seeded(2911);
const one = <T>(some: readonly T[]): T => some[Math.floor(some.length * uniform())]!;
const often = (share: number) => uniform() < share;

const kinds = [
  { name: "NVIDIA H200", rate: 55, link: { generation: 5, width: 16 } },
  { name: "NVIDIA A100-SXM4-80GB", rate: 22, link: { generation: 4, width: 16 } },
  { name: "NVIDIA L40S", rate: 25, link: { generation: 4, width: 16 } },
] as const;
const broken: readonly Partial<NodeFigures>[] = [
  {
    state: "wrong data",
    reason: "copies of GPU 1, 3 came back wrong at 2026-11-19 08:00 UTC; later copies were right",
  },
  { state: "failed", reason: "its run was interrupted, or was killed" },
  ...(["late", "missing", "unreadable"] as const).map((state) => ({
    ...{ state, reason: "no reason is known", devices: [], facts: {}, startedAt: null },
  })),
];

/** A fleet with random faults of nodes, slots, racks and GPU models. */
function illFleet(): NodeFigures[] {
  const gpus = one([1, 4, 8]);
  const slowSlot = often(0.3) ? Math.floor(gpus * uniform()) : null;
  const slowRack = often(0.3) ? 1 : null;
  const prefix = one(["n", "gpu-h200-r07-"]);
  return kinds.slice(0, one([1, 1, 2, 3])).flatMap(({ name, rate, link }, kind) => {
    const isSlowKind = often(0.2);
    return Array.from({ length: one([2, 3, 5, 12]) }, (_, node) => {
      const rack = node % 3;
      const slowGpu = often(0.2) ? Math.floor(gpus * uniform()) : null;
      const share = rack === slowRack || often(0.1) ? 0.6 : isSlowKind ? 0.7 : 1;
      const rates = Array.from({ length: gpus }, (_, gpu) => {
        const ill = gpu === slowGpu ? 0.8 : gpu === slowSlot ? 0.5 : 1;
        const figure = (times: number) => times * rate * share * ill * Math.exp(0.002 * normal());
        return { pinned: figure(1), back: figure(0.98), pageable: 10 * Math.exp(0.02 * normal()) };
      });
      const uuids = often(0.1) ? "GPU-copied" : `GPU-${kind}-${node}`;
      const failing = often(0.1) ? gpus - 1 : null;
      const device = (gpu: number): Partial<DeviceFigures> => {
        const failures = new Map(
          gpu === failing ? [["d2h/pinned/67108864/w1/throughput/cold", "an illegal address"]] : [],
        );
        return { name, link, linkCapability: link, uuid: `${uuids}-${gpu}`, failures };
      };
      const changes = {
        ...(often(0.1) && { startedAt: "2025-11-20T09:00:00.000Z" }),
        labels: { rack: `r${rack}` },
        facts: { ...facts, gpu: name, linkCapability: `gen${link.generation} x16`, gpuCount: `${gpus}` },
        ...(often(0.2) && one(broken)),
      };
      return fleetNode(`${prefix}${kind}${node}`, rates, changes, device);
    });
  });
}

it("a fleet's headline has at most three sentences, with the slow nodes, their GPUs and losses", () => {
  let slow = 0;
  for (let fleet = 0; fleet < 40; ++fleet) {
    const document = judged([], { nodes: illFleet(), referenceOf });
    const lines = drawn(fleetKind, document, "table", fileScreen({ columns: 80 })).split("\n");
    const end = lines.findIndex((line, i) => line === "" && lines[i - 1]?.match(/^(=>| {3}\S)/));
    expect(end, lines.join("\n")).toBeLessThanOrEqual(10);
    expect(lines.filter((line) => line.startsWith("=> ")).length).toBeLessThanOrEqual(3);
    const screen = lines.slice(0, end).join(" ").replaceAll(/\s+/g, " ");
    const hosts = new Set(document.outliers.map(({ host }) => host));
    slow += hosts.size;
    const named = [
      ...screen.matchAll(
        /(?:all GPUs|GPU \d+)(?: and \d+ more GPUs?|, GPU \d+ most,)? of (\S+) \([\d.]+ % slower\)/g,
      ),
    ];
    expect(named.map(([, host]) => host)).toEqual([...hosts].slice(0, 3));
    if (document.nodes.some(({ state }) => state === "wrong data"))
      expect(screen).toContain("copied wrong data");
  }
  expect(slow).toBeGreaterThan(100);
});
