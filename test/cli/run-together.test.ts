import { describe, expect, it } from "vitest";
import { callSmall } from "../helpers/in-process.js";

const together = ["--together", "--memory", "pinned"];

describe("pinbench run --together", () => {
  // Node's own pool, on which a session's calls are carried out, has four threads.
  it.each([2, 6])("measures %i devices at the same time as well as each alone", async (devices) => {
    const env = { PINBENCH_EMULATED_DEVICES: String(devices) };
    const { exitCode, document } = await callSmall([...together, "--direction", "h2d,bidir"], env);
    expect(exitCode).toBe(0);
    const ordinals = Array.from({ length: devices }, (_, ordinal) => ordinal);
    for (const direction of ["h2d", "bidir"]) {
      const cells = document.cells.filter((cell) => cell.direction === direction);
      expect(cells.map(({ device, together }) => [device, together])).toEqual(
        ordinals.flatMap((ordinal) => [
          [ordinal, undefined],
          [ordinal, ordinals],
        ]),
      );
      for (const { id, outcome, samples } of cells) {
        expect(outcome, id).toMatch(/^(converged|budget)$/);
        for (const { durationNs } of samples) expect(durationNs, id).toHaveLength(6);
      }
    }
  });
});
