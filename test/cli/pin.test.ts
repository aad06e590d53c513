import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Pinning, pinningSchema } from "../../src/pin/pinning-document.js";
import { emulatedNodes } from "../helpers/emulated-nodes.js";
import { callCli } from "../helpers/in-process.js";
import { markName, measuring, nextMark, processesWith, untilInSlowCopy } from "../helpers/processes.js";
import { emulatedFaults, startCli, temporaryFolder } from "../helpers/run-cli.js";

const pin = (...args: string[]) => ["pin", "--backend", "emulated", "--quiet", ...args];
const small = ["--sizes", "4MiB", "--pieces", "1,2", "--threads", "1,2", "--budget", "30s"];

const parse = (text: string): Pinning => pinningSchema.parse(JSON.parse(text));

async function pinned(env: Record<string, string>, ...args: string[]) {
  const { exitCode, stdout, stderr } = await callCli(pin("--json", ...args), { env });
  return { exitCode, stderr, pinning: parse(stdout) };
}

/** What a process had not given back of the driver's when it ended, in the words of its report. */
function notGivenBack(path: string): string[] {
  const { held, leftBehind } = JSON.parse(readFileSync(path, "utf8")) as Record<
    string,
    Record<string, number>
  >;
  return Object.entries({ ...held, ...leftBehind })
    .filter(([, count]) => count > 0)
    .map(([kind]) => kind);
}

describe("pinbench pin on an emulated device", () => {
  it("measures every way, and recommends one", async () => {
    const cwd = temporaryFolder();
    const names = ["pin.json", "pin.csv", "pin.md", "pin.txt", "pin.html"];
    const outputs = names.flatMap((name) => ["--output", name]);
    const { exitCode, stdout, stderr } = await callCli(pin(...small, "--label", "rack=7", ...outputs), {
      cwd,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [json, csv, markdown, table, html] = names.map((name) => readFileSync(join(cwd, name), "utf8"));
    const pinning = parse(json!);
    expect(pinning).toMatchObject({ status: "complete", labels: { rack: "7" }, limits: [], budgetNs: 30e9 });
    const measured = pinning.pools.filter(({ outcome }) => outcome === "measured");
    const ways = new Set(measured.map(({ way }) => way));
    for (const way of ["host-alloc", "register", "register-huge"]) expect(ways).toContain(way);
    for (const { obtain, h2dGigabytesPerSecond, d2hGigabytesPerSecond, memory } of measured) {
      expect(obtain!.median).toBeGreaterThan(0);
      expect(h2dGigabytesPerSecond!.median).toBeGreaterThan(0);
      expect(d2hGigabytesPerSecond!.median).toBeGreaterThan(0);
      expect(memory!.held.residentBytes).toBeGreaterThan(0);
    }
    expect(pinning.recommendation?.code.c).toContain("int main(void)");
    expect(csv!.split("\n")).toHaveLength(pinning.pools.length + 2);
    expect(markdown).toMatch(/^## pinbench pin: .*```c\n.*```python\n/s);
    expect(table).toContain("=> Obtain 4 MiB of pinned memory by ");
    expect(stdout).toContain("=> Obtain 4 MiB of pinned memory by ");
    expect(html!.replaceAll("\u00a0", " ")).toMatch(
      /^<!doctype html>.*Obtain 4 MiB of pinned memory by .*int main\(void\)/s,
    );
    // It is no result, and is told from one.
    expect(await callCli(["compare", "pin.json", "pin.json"], { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("is a result of `pinbench pin`, not a result of a run."),
    });
  });

  it("divides a pool among processes, which wait for each other in the driver", async () => {
    const env = {
      ...emulatedFaults({ pinnedInASecond: "512MiB" }),
      PINBENCH_EMULATED_SHARED: join(temporaryFolder(), "shared"),
    };
    const pools = ["--sizes", "64MiB", "--ways", "host-alloc", "--pieces", "1", "--processes", "1,4"];
    const cwd = temporaryFolder();
    const outputs = ["pin.csv", "pin.txt", "pin.json"].flatMap((name) => ["--output", name]);
    const { exitCode, stderr } = await callCli(pin(...pools, "--stalls", ...outputs), { env, cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [csv, table, json] = ["pin.csv", "pin.txt", "pin.json"].map((name) =>
      readFileSync(join(cwd, name), "utf8"),
    );
    const { divided } = parse(json!);
    expect(divided!.map(({ processes, samples, reason }) => [processes, samples.length, reason])).toEqual([
      [1, 3, null],
      [4, 3, null],
    ]);
    // 64 MiB take 125 ms, whoever pins them.
    for (const { obtain, stalls } of divided!) {
      expect(obtain!.least).toBeGreaterThan(120e6);
      expect(stalls!.map(({ call }) => call)).toContain("memory-info");
    }
    expect(table!.replaceAll(/\s+/g, " ")).toMatch(
      /=> 4 processes that obtain 16 MiB each at once \(cuMemHostAlloc\) have all 64 MiB in [\d.]+ m?s; one process alone takes [\d.]+ m?s\./,
    );
    const rows = csv!.trim().split("\n");
    expect(rows.map((row) => row.split(",").at(-1))).toEqual(["processes", "1", "1", "4"]);
  });

  it("ends the processes of a divided pool with it", async () => {
    const mark = nextMark();
    // Each share takes half a second.
    const env = { ...emulatedFaults({ pinnedInASecond: "32MiB" }), [markName]: mark };
    const pools = ["--sizes", "32MiB", "--ways", "register", "--pieces", "1", "--threads", "1"];
    const { child, finished } = startCli(pin("--json", ...pools, "--processes", "2"), { env });
    await vi.waitFor(() => expect(measuring(mark, "worker")).toHaveLength(2), { timeout: 60_000 });
    child.kill("SIGINT");
    const { exitCode, stdout } = await finished;
    expect(exitCode).toBe(130);
    expect(parse(stdout)).toMatchObject({ status: "aborted", pools: [{ outcome: "measured" }] });
    await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), { timeout: 20_000 });
  });

  it("says that registering is not supported, as under confidential computing", async () => {
    const { exitCode, pinning } = await pinned(
      emulatedFaults({ call: "cuMemHostRegister_v2", result: 801 }),
      ...small,
    );
    expect(exitCode).toBe(0);
    expect(pinning.recommendation).toMatchObject({ way: "host-alloc" });
    expect(pinning.limits.map(({ largestBytes }) => largestBytes)).toEqual(pinning.limits.map(() => 0));
    expect(pinning.limits[0]!.reason).toMatch(/^the driver registers no memory of programs here/);
  });

  it("fails if nothing can be had, or the device is lost, with what it found", async () => {
    const refused = await pinned(
      emulatedFaults(
        { call: "cuMemHostRegister_v2", result: 801 },
        { call: "cuMemHostAlloc", from: 2, result: 2 },
      ),
      ...small,
    );
    expect(refused).toMatchObject({ exitCode: 4, pinning: { recommendation: null, status: "complete" } });
    const lost = await pinned(
      emulatedFaults({ call: "cuMemcpyDtoHAsync_v2", from: 30, result: 719 }),
      ...small,
    );
    expect(lost).toMatchObject({ exitCode: 4, pinning: { status: "failed" } });
    expect(lost.stderr).toContain("The device failed: ");
    expect(lost.pinning.recommendation).not.toBeNull();
  });
});

describe("on a machine with several NUMA nodes", () => {
  it("measures one at a time, unless several processes are placed on them", async () => {
    const finished = await callCli(pin("--numa", "all"));
    expect(finished).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("pinbench run --numa all"),
    });
    const pools = ["--sizes", "8MiB", "--ways", "register", "--pieces", "1", "--processes", "3"];
    const nodesOf = async (more: Partial<Parameters<typeof emulatedNodes>[0]>) => {
      const env = emulatedNodes({ sysfs: [1], GBps: [[4, 4]], ...more });
      const { pinning } = await pinned(env, ...pools, "--numa", "all");
      return pinning.divided!.map(({ nodes, reason }) => ({ nodes, reason }));
    };
    expect(await nodesOf({})).toEqual([{ nodes: [0, 1, 0], reason: null }]);
    const besideMemory = [{ cpus: [0, 1] }, { cpus: [] }];
    expect(await nodesOf({ nodes: besideMemory })).toEqual([{ nodes: [null, null, null], reason: null }]);
    expect(await nodesOf({ refuse: ["set_mempolicy"] })).toEqual([
      { nodes: [null, null, null], reason: null },
    ]);
  });
});

describe("an interrupt", () => {
  /** In a copy of 4 MiB, which takes a second however fast this machine copies, and is at least the one numbered `from`. */
  async function interrupted(signal: NodeJS.Signals, from: number) {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "pin.json"), "before");
    const env = {
      ...emulatedFaults({ link: "h2d", slowdown: 1000, from }),
      PINBENCH_EMULATED_LINK: "4e9",
      PINBENCH_EMULATED_LEAKS: join(cwd, "leaks"),
    };
    const pools = ["--sizes", "32MiB", "--ways", "register-huge", "--threads", "1,2"];
    const { child, finished } = startCli(pin("--json", "--output", "pin.json", ...pools), { cwd, env });
    await untilInSlowCopy(child.pid!);
    child.kill(signal);
    const { stdout, exitCode, stderr } = await finished;
    const file = readFileSync(join(cwd, "pin.json"), "utf8");
    return { exitCode, stderr, stdout, file, left: notGivenBack(join(cwd, "leaks")) };
  }

  it("leaves nothing pinned, and prints what was measured", async () => {
    const inSecondPool = 14;
    const signals = ["SIGINT", "SIGTERM"] as const;
    const ends = await Promise.all(signals.map((signal) => interrupted(signal, inSecondPool)));
    expect(ends.map(({ exitCode }) => exitCode)).toEqual([130, 143]);
    for (const { stderr, stdout, file, left } of ends) {
      const pinning = parse(stdout);
      expect(parse(file)).toEqual(pinning);
      expect({ stderr, left }).toEqual({ stderr: "", left: [] });
      expect(pinning.status).toBe("aborted");
      expect(pinning.pools.map(({ outcome }) => outcome)).toContain("measured");
      expect(pinning.pools.map(({ reason }) => reason)).toContain("interrupted before");
    }
  });

  it("before the first figure leaves a file as it was, and still tells the program that reads stdout", async () => {
    const { exitCode, stderr, stdout, file, left } = await interrupted("SIGINT", 1);
    expect({ exitCode, file, left }).toEqual({ exitCode: 130, file: "before", left: [] });
    expect(stderr).toContain("interrupted, nothing was measured: nothing was written to pin.json.\n");
    expect(parse(stdout).status).toBe("aborted");
  });
});
