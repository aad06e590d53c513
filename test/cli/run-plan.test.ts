import { describe, expect, it } from "vitest";
import type { Plan } from "../../src/plan/plan.js";
import { callCli } from "../helpers/in-process.js";

const MiB = 1024 * 1024;
const dry = ["run", "--backend", "emulated", "--llc", "1MiB", "--dry-run"];

async function planOf(args: readonly string[]): Promise<Plan> {
  const { exitCode, stdout, stderr } = await callCli([...dry, "--json", "--quiet", ...args]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout) as Plan;
}

/** The values of one parameter over all cells, each once. */
function axis<Key extends keyof Plan["cells"][number]>(plan: Plan, key: Key) {
  return [...new Set(plan.cells.map((cell) => cell[key]))];
}

describe("pinbench run --dry-run", () => {
  it("shows the plan, its memory and its estimated time", async () => {
    const { exitCode, stdout } = await callCli([...dry, "--sizes", "1MiB,16MiB", "--workers", "1"]);
    expect(exitCode).toBe(0);
    const lines = [
      /^The plan \(nothing was measured\)\n/,
      / {2}Cells +14 cells, preset default\n/,
      / {2}Memory +pageable, staged, host, pinned\n/,
      / {2}Sizes +1 MiB, 16 MiB\n/,
      / {2}Host memory +\d.* of which \d.* pinned\n/,
      / {2}Time +about \d.* \(an estimate.*\)\n/,
    ];
    for (const line of lines) expect(stdout).toMatch(line);
  });

  it("says what is measured beyond plain copies, and nothing of it where that is nothing", async () => {
    const args = ["--sizes", "1MiB", "--workers", "1", "--memory", "pinned", "--direction", "h2d,p2p"];
    const more = ["--together", "--beside", "memory,host", "--pipeline", "4"];
    const { stdout } = await callCli([...dry, ...args, ...more], { env: { PINBENCH_EMULATED_DEVICES: "2" } });
    expect(stdout).toContain("  At once      devices 0 and 1\n");
    expect(stdout).toContain("  Paths        write, read, through-host, kernel-write, kernel-read\n");
    expect(stdout).toContain("  Beside       a load on the device's memory, a load on the host's memory\n");
    expect(stdout).toContain("  Chunks       1, 4\n");
    expect((await callCli([...dry, "--sizes", "1MiB"])).stdout).not.toMatch(/At once|Paths|Beside|Chunks/);
  });

  it("says how many processes carry it out, and estimates the time of all", async () => {
    const args = ["--sizes", "1MiB", "--workers", "1", "--budget", "2s"];
    const one = await planOf(args);
    const four = await planOf([...args, "--processes", "4"]);
    // Each estimate is made anew, from what the machine does at that moment.
    expect(four.estimate.mostDurationNs).toBeGreaterThan(4 * 2e9);
    expect(one.estimate.leastDurationNs).toBeLessThan(four.estimate.leastDurationNs);
    const { stdout } = await callCli([...dry, ...args, "--processes", "4"]);
    expect(stdout).toMatch(/ {2}Processes +4, one after the other\n/);
    expect((await callCli([...dry, ...args, "--processes", "0"])).exitCode).toBe(2);
    expect((await callCli([...dry, ...args, "--processes", "100"])).exitCode).toBe(2);
  });
});

describe("presets", () => {
  it("are the default one if nothing is said", async () => {
    const plan = await planOf([]);
    expect(plan.preset).toBe("default");
    expect(axis(plan, "memory")).toEqual(["pageable", "staged", "pinned", "host"]);
    expect(axis(plan, "direction")).toEqual(["h2d", "d2h"]);
    // A machine of little memory leaves out the largest, and a note says so.
    const sizes = [64 * 1024, MiB, 16 * MiB, 64 * MiB, 128 * MiB];
    expect(axis(plan, "sizeBytes")).toEqual(sizes.slice(0, axis(plan, "sizeBytes").length));
  });

  it("have one of two memory kinds at one size for a quick look", async () => {
    const plan = await planOf(["--preset", "quick"]);
    expect(plan.cells.map(({ id }) => id)).toEqual(
      ["h2d/pageable", "h2d/host", "h2d/pinned", "d2h/pageable", "d2h/host", "d2h/pinned"].map(
        (route) => `d0/${route}/33554432/w1/throughput/wall/cold`,
      ),
    );
  });

  it("have one whose sizes grow as bandwidthTest's shmoo mode does", async () => {
    const plan = await planOf(["--preset", "shmoo"]);
    const sizes = axis(plan, "sizeBytes");
    expect(sizes).toHaveLength(81);
    expect([sizes[0], sizes.at(-1)]).toEqual([1024, 64 * MiB]);
    expect(plan.cells).toHaveLength(81 * 2 * 2 + 2);
  });

  it("fill in only what is not said", async () => {
    const plan = await planOf(["--preset", "quick", "--sizes", "1KiB..4KiB*2,6KB", "--direction", "bidir"]);
    const cells = plan.cells.filter(({ memory }) => memory !== "host");
    expect([...new Set(cells.map(({ sizeBytes }) => sizeBytes))]).toEqual([1024, 2048, 4096, 6000]);
    expect(new Set(cells.map(({ direction, memory }) => `${direction}/${memory}`))).toEqual(
      new Set(["bidir/pageable", "bidir/pinned"]),
    );
  });
});
