import { describe, expect, it } from "vitest";
import { parseCellId } from "../../src/results/cell-id.js";
import { idOfAlone, isPlain, variantName, variantOf } from "../../src/results/variant.js";

const plain = "d0/h2d/pinned/1048576/w2/throughput/cold";
const cellOf = (end: string) => parseCellId(plain + end);

describe("a cell", () => {
  it.each([
    ["", "plain", ""],
    ["/process", "plain", "process"],
    ["/together-0-1", "together", "together"],
    ["/process/together-0-1", "together", "process together"],
    ["/to-1/read", "p2p", "read"],
    ["/together-0-1/to-1/read", "p2p", "together read"],
    ["/beside-memory", "beside", "beside memory"],
    ["/chunks-4", "pipeline", "pipeline"],
    ["/blocks-4096-kernel", "blocks", "blocks kernel"],
    ["/beside-memory/blocks-4096-loop", "blocks-beside", "beside memory blocks loop"],
    ["/together-0-1/cpus-0-memory-1", "numa", "together numa"],
  ])("whose id ends in %j has the variant %s, and the noise of %j", (end, variant, name) => {
    expect([variantOf(cellOf(end)), variantName(cellOf(end))]).toEqual([variant, name]);
    expect(isPlain(cellOf(end))).toBe(end === "");
  });

  it.each([
    ["", ""],
    ["/process/together-0-1", "/process"],
    ["/together-0-1/to-1/read", "/to-1/read"],
    ["/beside-memory", ""],
    ["/chunks-4", ""],
    ["/blocks-4096-loop", ""],
    ["/beside-memory/blocks-4096-kernel", "/blocks-4096-kernel"],
    ["/together-0-1/cpus-0-memory-1", "/cpus-0-memory-1"],
  ])("whose id ends in %j is compared with the plainer cell that ends in %j", (end, alone) => {
    expect(idOfAlone(cellOf(end))).toBe(plain + alone);
    // Results name threads as the kind of workers.
    if (!end.startsWith("/process"))
      expect(idOfAlone({ ...cellOf(end), workerKind: "thread" })).toBe(plain + alone);
  });
});
