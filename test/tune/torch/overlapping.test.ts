import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { python, target } from "./support.js";

const probe = fileURLToPath(new URL("../../../src/tune/torch/probe", import.meta.url));

interface Told {
  issuedMs: number[];
  arrivedMs: number[];
  toldMs: number[];
}

function loopWith(stepMs: number): Told {
  return JSON.parse(
    execFileSync(python, ["-B", target("overlapping.py"), probe, String(stepMs)], { encoding: "utf8" }),
  );
}

it("a copy that overlaps has arrived when it was done, not when the next batch was there, and is told soon", () => {
  const { issuedMs, arrivedMs, toldMs } = loopWith(0);
  expect(arrivedMs).toHaveLength(3);
  for (const [i, issued] of issuedMs.entries()) {
    expect(arrivedMs[i]! - issued).toBeGreaterThan(15);
    expect(arrivedMs[i]! - issued).toBeLessThan(60);
    expect(toldMs[i]! - arrivedMs[i]!).toBeLessThan(60);
  }
});

it("a step behind the copy does not put off its arrival, one before it does", () => {
  const { issuedMs, arrivedMs } = loopWith(100);
  expect(arrivedMs[0]! - issuedMs[0]!).toBeLessThan(60);
  const long = loopWith(300);
  // Issued after 200 ms, behind a step that ends 100 ms later.
  expect(long.arrivedMs[1]! - long.issuedMs[1]!).toBeGreaterThan(100);
  expect(long.arrivedMs[1]! - long.issuedMs[1]!).toBeLessThan(200);
});
