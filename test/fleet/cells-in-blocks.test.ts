import { describe, expect, it } from "vitest";
import { cellText } from "../../src/fleet/fleet-wording.js";
import type { NodeGroup } from "../../src/fleet/node-groups.js";
import { shareOfReference } from "../../src/fleet/reference-share.js";

const plain = "h2d/pinned/67108864/w1/throughput/wall/cold";
const figure = (cell: string) => ({ cell, moved: "h2d", unit: "GB/s" }) as const;

describe("cells of scattered blocks, in a fleet", () => {
  it("are held against no reference, which is of plain copies", () => {
    const devices = [{ name: "NVIDIA H200", linkCapability: { generation: 5, width: 16 } }];
    const group = { facts: { backend: "cuda" }, nodes: [{ devices }] } as unknown as NodeGroup;
    const referenceOf = () => ({ h2d: 55, d2h: 55, together: null, tolerance: 0.05, source: "recordings" });
    const shareOf = (cell: string) => shareOfReference(figure(cell), 11, group, referenceOf);
    expect(shareOf(plain)).toBeCloseTo(0.2);
    expect(shareOf(`${plain}/blocks-4096-loop`)).toBeNull();
  });

  it("have their block and way in their names", () => {
    expect(cellText(figure(`${plain}/blocks-4096-kernel-sms-8`))).toBe(
      "h2d pinned 64 MiB in blocks of 4 KiB (kernel) on 8 multiprocessors",
    );
  });
});
