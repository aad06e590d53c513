import { beforeAll, describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { runCli, small } from "../helpers/run-cli.js";

describe("a device that NVLink-C2C joins to the CPU, and that cannot register memory", () => {
  let exitCode: number | null;
  let document: ResultDocument;
  const cellsOf = (memory: string) => document.cells.filter((cell) => cell.memory === memory);

  beforeAll(async () => {
    const memory = ["--memory", "pinned,registered,system", "--direction", "h2d,d2h,bidir"];
    const finished = await runCli(small(...memory, "--samples", "3", "--json"), {
      env: {
        // What NVML says of PCIe, which copies do not use.
        PINBENCH_EMULATED_NVML: "c2cLinks=10:generation=1:width=1",
        PINBENCH_EMULATED_FAULTS: "cuMemHostRegister_v2:801",
      },
    });
    exitCode = finished.exitCode;
    document = parseResult(finished.stdout);
  });

  it("copies from and to memory of the system, and each byte arrives", () => {
    expect(cellsOf("system")).toHaveLength(3);
    for (const { id, outcome, verification } of cellsOf("system")) {
      expect.soft(outcome, id).toMatch(/^(converged|budget)$/);
      expect.soft(verification?.mismatches, id).toEqual([]);
      expect.soft(verification?.checkedBytes, id).toBeGreaterThanOrEqual(65536);
    }
  });

  it("says in a sentence why registered memory is left out, which is no failure", () => {
    expect(exitCode).toBe(0);
    expect(cellsOf("registered")).toHaveLength(3);
    for (const { id, outcome, skipReason } of cellsOf("registered")) {
      expect.soft(outcome, id).toBe("skipped");
      expect
        .soft(skipReason, id)
        .toMatch(/^device 0 \(.+\) cannot register memory; pinned memory copies as fast$/);
    }
  });

  it("has no limit of PCIe", () => {
    expect(document.devices[0]).toMatchObject({ link: { generation: 1, width: 1 }, linkLimitGBps: null });
  });
});
