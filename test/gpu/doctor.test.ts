import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { diagnosisSchema } from "../../src/doctor/diagnosis.js";
import { runCli, startCli } from "../helpers/run-cli.js";
import { skipWithout } from "./session.js";

skipWithout("gpu");

async function examined(...args: string[]) {
  const { exitCode, stdout } = await runCli([
    "doctor",
    "--backend",
    "cuda",
    "--device",
    "0",
    "--json",
    ...args,
  ]);
  return { exitCode, diagnosis: diagnosisSchema.parse(JSON.parse(stdout)) };
}

describe("pinbench doctor of a GPU that nobody else uses", () => {
  it("finds nothing that costs bandwidth, in at most 20 s", async () => {
    const { exitCode, diagnosis } = await examined();
    expect(diagnosis.findings.filter(({ weight }) => weight === "costs")).toEqual([]);
    expect({ exitCode, verdict: diagnosis.verdict }).toEqual({ exitCode: 0, verdict: "healthy" });
    expect(diagnosis.wallNs).toBeLessThan(20e9);
    expect(diagnosis.devices[0]!.link).toMatch(/^PCIe gen\d x\d+$/);
    // Calls of asynchronous copies return before these are made, but for confidential computing.
    expect(diagnosis.findings.map(({ cause }) => cause)).not.toContain("copies-wait");
  });

  it("says the same in a few seconds with --preset quick", async () => {
    const { exitCode, diagnosis } = await examined("--preset", "quick");
    expect({ exitCode, verdict: diagnosis.verdict }).toEqual({ exitCode: 0, verdict: "healthy" });
    const { made, proven } = diagnosis.devices[0]!.copies!;
    expect(proven).toBe(made);
    expect(diagnosis.wallNs).toBeLessThan(6e9);
  });
});

it("never accuses a healthy GPU in ten examinations, and in ten with --preset quick", async () => {
  for (const args of [[], ["--preset", "quick"]]) {
    for (let i = 0; i < 10; ++i) {
      const { diagnosis } = await examined(...args);
      expect({ i, args, verdict: diagnosis.verdict }).toEqual({ i, args, verdict: "healthy" });
    }
  }
}, 400_000);

describe("pinbench doctor of a GPU to which another process copies", () => {
  it("names that process first", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pinbench-doctor-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "other.json");
    const copies = ["--sizes", "256MiB", "--memory", "pinned", "--workers", "1", "--direction", "h2d,d2h"];
    const endless = ["--budget", "5m", "--precision", "0.0001%", "--quiet", "--output", file];
    const { child, finished } = startCli([
      "run",
      "--backend",
      "cuda",
      "--device",
      "0",
      ...copies,
      ...endless,
    ]);
    onTestFinished(async () => {
      child.kill("SIGTERM");
      await finished;
    });
    // It has measured its first round, and goes on.
    while (!existsSync(`${file}.partial`)) {
      expect(child.exitCode).toBeNull();
      await sleep(50);
    }
    const { exitCode, diagnosis } = await examined();
    const [first] = diagnosis.findings;
    expect({ exitCode, cause: first?.cause }).toEqual({ exitCode: 1, cause: "device-shared" });
    expect(first!.evidence.join()).toContain(String(child.pid));
  });
});
