import { describe, expect, it } from "vitest";
import { cellText } from "../../src/fleet/fleet-wording.js";
import { keyOf, type NodeGroup } from "../../src/fleet/node-figures.js";
import { groupReference } from "../../src/fleet/reference-share.js";

const plain = "h2d/pinned/67108864/w1/throughput/wall/cold";
const figure = (cell: string) => ({ cell, moved: "h2d", unit: "GB/s" }) as const;

describe("cells of scattered blocks, in a fleet", () => {
  it("are held against no reference, which is of plain copies", () => {
    const devices = [{ name: "NVIDIA H200", linkCapability: { generation: 5, width: 16 } }];
    const group = { facts: { backend: "cuda" }, nodes: [{ devices }] } as unknown as NodeGroup;
    const referenceOf = () => ({ h2d: 55, d2h: 55, together: null, tolerance: 0.05, source: "recordings" });
    const reference = groupReference(group, referenceOf);
    expect(reference.of(0, 0, keyOf(figure(plain)))?.rate).toBe(55);
    expect(reference.of(0, 0, keyOf(figure(`${plain}/blocks-4096-loop`)))).toBeNull();
  });

  it("have their block and way in their names", () => {
    expect(cellText(figure(`${plain}/blocks-4096-kernel-sms-8`))).toBe(
      "h2d pinned 64 MiB in blocks of 4 KiB (kernel) on 8 multiprocessors",
    );
  });
});
