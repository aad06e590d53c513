import { describe, expect, it } from "vitest";
import type { ResultDocument } from "../../src/results/schema.js";
import { emulatedNodes } from "../helpers/emulated-nodes.js";
import { callCli, callSmall } from "../helpers/in-process.js";

const all = ["--numa", "all", "--memory", "pinned", "--direction", "h2d", "--all"];

/** The sentences at the end of the output of a small run on these nodes. */
async function answerOn(machine: Parameters<typeof emulatedNodes>[0], more: readonly string[] = all) {
  const args = ["run", "--backend", "emulated", "--sizes", "256KiB", "--samples", "12"];
  const { stdout, exitCode } = await callCli([...args, ...more], { env: emulatedNodes(machine) });
  return { text: stdout.replaceAll(/\s+/g, " "), exitCode };
}

// So slow that a busy machine hardly adds to it.
const [near, far] = [0.05, 0.004];

describe("pinbench run --numa all", () => {
  it("reports that sysfs names the slower node, what that costs, and how to bind to the faster one", async () => {
    const { text, exitCode } = await answerOn({ sysfs: [0], GBps: [[far, near]] });
    expect(exitCode).toBe(0);
    expect(text).toMatch(
      /=> d0 memory of node 1: \d+× as fast as node 0\. Bind to node 1 \(sysfs names 0\)\./,
    );
    expect(text).toContain("numactl --cpunodebind=1 --membind=1 COMMAND");
    expect(text).toContain("--numa-bind-nodes 1");
    expect(text).toContain("--cpu-bind=map_ldom:1 --mem-bind=map_mem:1");
  });

  it("checks on which node pages lie, and ignores the figures of a full node", async () => {
    const nodes = [{ cpus: [0, 1] }, { cpus: [2, 3], full: true }];
    const { text } = await answerOn({ sysfs: [0], GBps: [[near, far]], nodes });
    expect(text).toContain(
      "memory of node 1 lies elsewhere: the node is full or not allowed, and its figures do not count",
    );
    expect(text).not.toContain("Bind to");
  });

  it("goes on if a container forbids to choose the node, and skips pageable cells with the reason", async () => {
    const more = ["--numa", "all", "--memory", "pageable,pinned", "--direction", "h2d", "--all"];
    const { text, exitCode } = await answerOn({ sysfs: [0], GBps: [[near, far]], refuse: true }, more);
    expect(exitCode).toBe(0);
    expect(text).toContain(
      "the system refuses to choose the node of memory (set_mempolicy; containers need SYS_NICE)",
    );
    expect(text).toMatch(
      /skipped: the system refuses to choose the node of memory \(set_mempolicy\) \(H2D pageable /,
    );
  });

  it("measures nothing on a machine with one node, and says so in one line", async () => {
    const { text, exitCode } = await answerOn({ sysfs: [0], GBps: [[near]], nodes: [{ cpus: [0, 1] }] });
    expect(exitCode).toBe(0);
    expect(text).toContain("=> NUMA: one node only, nothing to compare.");
  });

  it("measures on the one device and node that can be opened if all others fail", async () => {
    const env = {
      ...emulatedNodes({ sysfs: [0, 0], GBps: Array(2).fill([near, far]) }),
      PINBENCH_EMULATED_FAULTS: "cuDevicePrimaryCtxRetain:2:after=1",
    };
    const args = ["run", "--backend", "emulated", "--sizes", "64KiB", "--samples", "6"];
    const { stdout, exitCode } = await callCli([...args, ...all, "--json"], { env });
    expect(exitCode).toBe(4);
    const { cells } = JSON.parse(stdout) as ResultDocument;
    const outcomes = cells.map(({ device, memoryNode, together, outcome }) =>
      [device, memoryNode, together === undefined ? "alone" : "at once", outcome].join(" "),
    );
    // The first device's session on the first node is the one that was opened.
    expect(outcomes.filter((text) => !text.endsWith("failed"))).toEqual([
      expect.stringMatching(/^0 0 alone (budget|converged)$/),
      "0 0 at once skipped",
    ]);
  });

  it("records the nodes, and each cell's CPUs and pages, in the document", async () => {
    const env = emulatedNodes({ sysfs: [0], GBps: [[near, far]] });
    const { document } = await callSmall([...all, "--sizes", "64KiB"], env);
    expect(document.numaNodes?.map(({ node, cpus }) => [node, cpus])).toEqual([
      [0, [0, 1]],
      [1, [2, 3]],
    ]);
    expect(document.devices.map(({ numaNode }) => numaNode)).toEqual([0]);
    for (const { memoryNode, placement, pages } of document.cells) {
      expect(placement?.numaNode).toBe(memoryNode);
      expect(pages?.ofNodes).toEqual([{ node: memoryNode, pages: expect.any(Number) }]);
    }
  });
});
