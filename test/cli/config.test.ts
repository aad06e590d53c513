import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Plan } from "../../src/plan/plan.js";
import { configFile, folderOf } from "../helpers/config.js";
import { type Finished, runCli } from "../helpers/run-cli.js";

/** What the plan of a small run is with these arguments in this folder. */
async function planned(cwd: string, args: readonly string[], env = {}): Promise<Finished & { plan: Plan }> {
  const finished = await runCli(["run", "--dry-run", "--json", ...args], { cwd, env });
  expect({ exitCode: finished.exitCode, stderr: finished.stderr }).toMatchObject({ exitCode: 0 });
  return { ...finished, plan: JSON.parse(finished.stdout) as Plan };
}

const axis = <Key extends keyof Plan["cells"][number]>({ cells }: Plan, key: Key) => [
  ...new Set(cells.map((cell) => cell[key])),
];

const small = { backend: "emulated", llc: "1MiB", sizes: "64KiB,128KiB", workers: 1, memory: "pinned" };

describe("pinbench run", () => {
  it("measures what the configuration says, and says on stderr which it is", async () => {
    const cwd = folderOf({
      [configFile]: { plan: { ...small, direction: "h2d", samples: 6, budget: "1s" } },
    });
    const { exitCode, stdout, stderr } = await runCli(["run", "--json"], { cwd });
    expect(exitCode).toBe(0);
    const { cells, backend, host } = JSON.parse(stdout);
    expect(cells.map(({ id }: { id: string }) => id)).toEqual(
      [65536, 131072].map((size) => `d0/h2d/pinned/${size}/w1/throughput/wall/cold`),
    );
    expect(backend).toBe("emulated");
    expect(host).toMatchObject({ lastLevelCacheBytes: 1024 ** 2, lastLevelCacheSource: "configuration" });
    expect(stderr).toContain("pinbench: Using the configuration pinbench.config.json.\n");
    expect((await runCli(["run", "--dry-run", "--quiet"], { cwd })).stderr).toBe("");
  });

  it("lets flags win over it, and it over the defaults", async () => {
    const cwd = folderOf({ [configFile]: { plan: { ...small, device: 1, verify: false, seed: 7 } } });
    const env = { PINBENCH_EMULATED_DEVICES: "2" };
    const { plan } = await planned(cwd, [], env);
    expect(axis(plan, "device")).toEqual([1]);
    expect(plan).toMatchObject({ verify: false, seed: 7 });

    const flags = ["--device", "0", "--verify", "--sizes", "4KiB", "--backend", "emulated"];
    const { plan: flagged } = await planned(cwd, flags, env);
    expect(axis(flagged, "device")).toEqual([0]);
    expect(axis(flagged, "sizeBytes")).toEqual([4096]);
    expect(axis(flagged, "memory")).toEqual(["pinned"]);
    expect(flagged).toMatchObject({ verify: true, seed: 7 });
  });

  it("obeys --config and --no-config", async () => {
    const cwd = folderOf({
      [configFile]: { plan: { ...small, sizes: "64KiB" } },
      "other.json": { plan: { ...small, sizes: "4KiB" } },
    });
    const named = await planned(cwd, ["--config", "other.json"]);
    expect(axis(named.plan, "sizeBytes")).toEqual([4096]);
    expect(named.stderr).toContain("Using the configuration other.json.");
    const none = await planned(cwd, ["--no-config", "--backend", "emulated", "--preset", "quick"]);
    expect(axis(none.plan, "memory")).toEqual(["pageable", "host", "pinned"]);
    expect(none.stderr).not.toContain("configuration");
  });

  it("does not look above the home folder", async () => {
    const home = join(folderOf({ [configFile]: { runs: 0 }, "home/project/a": "" }), "home");
    const finished = await planned(join(home, "project"), ["--backend", "emulated"], { HOME: home });
    expect(finished.stderr).not.toContain("configuration");
  });
});
