import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Plan } from "../../src/plan/plan.js";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { callCli } from "../helpers/in-process.js";
import { measureSmall, pinbench, runSmall, small, start, temporaryFolder } from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

const twoKinds = ["--memory", "pageable,pinned"];

describe("pinbench run", () => {
  it("prints a header, a table for each direction and what was found", async () => {
    const { exitCode, stdout } = await callCli(small(...twoKinds, "--verbose"));
    expect(exitCode).toBe(0);
    const parts = [
      /^pinbench \d+\.\d+\.\d+\n/,
      /^! emulated device: .*\n\n/m,
      / {2}Device {2}pinbench emulated device 0, 16 GiB/,
      / {2}Link .*\n {2}Driver .*CUDA \d+\.\d.*\n {2}Host .*\n {2}Cache {3}cold.* --llc.*\n {2}Timing {2}wall clock/,
      /GB\/s is decimal \(1e9 bytes\), sizes are binary/,
      /Host to device \(H2D\), GB\/s\n.*pinned\/\n +size +workers +pageable +pinned +pageable\n/,
      /\n +64 KiB +1 +\d+(\.\d+)? .*×\n/,
      /Device to host \(D2H\), GB\/s\n/,
      /Cold start: paid once, part of no figure above\n {2}driver .*, context .*, first copy /,
    ];
    for (const part of parts) expect(stdout).toMatch(part);
  });

  it("prints exactly one JSON document with --json, as the schema says", async () => {
    const { exitCode, stdout, document } = await measureSmall(twoKinds);
    expect(exitCode).toBe(0);
    expect(schemaErrors(JSON.parse(stdout))).toBeNull();
    expect(document.run).toMatchObject({ status: "complete", error: null });
    expect(document.run.argv).toEqual(small(...twoKinds, "--json"));
    expect(document.run.finishedAt).not.toBeNull();
    expect(document.backend).toBe("emulated");
  });

  it("prints a row for each cell with --format csv", async () => {
    const { stdout } = await callCli(small(...twoKinds, "--format", "csv"));
    const [head, ...rows] = stdout.trim().split("\n");
    expect(head).toMatch(/^id,backend,notice,device,/);
    expect(rows.map((row) => row.split(",")[0])).toEqual(
      ["h2d/pageable", "h2d/host", "h2d/pinned", "d2h/pageable", "d2h/host", "d2h/pinned"].map(
        (route) => `d0/${route}/65536/w1/throughput/wall/cold`,
      ),
    );
  });

  it("prints GitHub's tables with --format markdown", async () => {
    const { stdout } = await callCli(small(...twoKinds, "--format", "markdown"));
    expect(stdout).toMatch(/^## pinbench: /);
    expect(stdout).toContain("## Host to device (H2D), GB/s\n\n| size | workers |");
  });

  it("measures the emulated device if there is no GPU, and says so on stderr", async () => {
    const { exitCode, stdout, stderr } = await runSmall(["--backend", "auto", "--memory", "pinned"], {
      env: { CUDA_VISIBLE_DEVICES: "" },
    });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^pinbench: measuring the emulated device, because .*\.\n$/);
    expect(stdout).toContain(emulatedNotice);
  });

  it("notes on stderr what it doubts, and in the plan too", async () => {
    const tooMany = String(availableParallelism() + 1);
    const { stdout, stderr } = await callCli(small("--workers", tooMany, "--dry-run", "--json"));
    expect(stderr).toMatch(new RegExp(`^pinbench: ${tooMany} workers: only \\d+ CPUs? (is|are) usable.*\n$`));
    expect((JSON.parse(stdout) as Plan).notes).toHaveLength(1);
  });

  it("says nothing on stderr with --quiet", async () => {
    const { stdout, stderr } = await runSmall(["--memory", "pinned", "--quiet", "--backend", "auto"], {
      env: { CUDA_VISIBLE_DEVICES: "" },
    });
    expect(stderr).toBe("");
    expect(stdout).not.toBe("");
  });

  it.each([
    ["the table", []],
    ["JSON that a pipe does not hold", ["--json", "--sizes", "1KiB..64KiB*1.3"]],
  ])("does not mind a reader that leaves early: %s", async (_, args) => {
    const pipeline = 'set -o pipefail; "$@" | head -1';
    const command = [process.execPath, pinbench, ...small("--samples", "1", ...args)];
    const { exitCode, stdout, stderr } = await start("bash", ["-c", pipeline, "bash", ...command]).finished;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.trim().split("\n")).toHaveLength(1);
  });
});

describe("pinbench", () => {});

describe("without a GPU", () => {
  const folder = () => join(temporaryFolder(), "baseline");
  const args = ["--sizes", "64KiB", "--memory", "pinned", "--samples", "6", "--llc", "1MiB", "--no-config"];

  it.skipIf(existsSync("/proc/driver/nvidia/version")).each([
    ["run --json", () => ["run", "--json", ...args]],
    ["baseline", () => ["baseline", folder(), "--runs", "2", ...args]],
    ["doctor --json", () => ["doctor", "--json", "--quick"]],
    ["pin --json", () => ["pin", "--json", "--sizes", "4MiB"]],
  ])("%s measures the emulated device only if it is asked for", async (_, words) => {
    const { exitCode, stdout, stderr } = await callCli(words());
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(
      /^pinbench: The CUDA backend is not available: .* or add --backend emulated: with --json, for a baseline .* only if asked for\.\n$/,
    );
  });

  it.skipIf(existsSync("/proc/driver/nvidia/version"))("run for people does, and says so", async () => {
    const { exitCode, stdout } = await callCli(["run", ...args]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("! emulated device");
    expect((await callCli(["run", "--json", "--backend", "auto", ...args])).exitCode).toBe(0);
  });
});
