import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Pinning, pinningSchema } from "../../src/pin/pinning-document.js";
import { callCli } from "../helpers/in-process.js";
import { untilInSlowCopy } from "../helpers/processes.js";
import { emulatedFaults, startCli, temporaryFolder } from "../helpers/run-cli.js";

const pin = (...args: string[]) => ["pin", "--backend", "emulated", "--quiet", ...args];
const small = ["--sizes", "4MiB", "--threads", "1,2", "--budget", "30s"];

const parse = (text: string): Pinning => pinningSchema.parse(JSON.parse(text));

async function pinned(env: Record<string, string>, ...args: string[]) {
  const { exitCode, stdout, stderr } = await callCli(pin("--json", ...args), { env });
  return { exitCode, stderr, pinning: parse(stdout) };
}

/** The kinds of driver resources that a process still held at its end. */
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
  it("measures every method, and recommends one", async () => {
    const cwd = temporaryFolder();
    const names = ["pin.json", "pin.md", "pin.txt", "pin.html"];
    const outputs = names.flatMap((name) => ["--output", name]);
    const { exitCode, stdout, stderr } = await callCli(pin(...small, "--label", "rack=7", ...outputs), {
      cwd,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [json, markdown, table, html] = names.map((name) => readFileSync(join(cwd, name), "utf8"));
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
    expect(markdown).toMatch(/^## pinbench pin: .*```c\n.*```python\n/s);
    expect(table).toContain("=> Recommended for 4 MiB: ");
    expect(stdout).toContain("=> Recommended for 4 MiB: ");
    expect(html!.replaceAll("\u00a0", " ")).toMatch(
      /^<!doctype html>.*Recommended for 4 MiB: .*int main\(void\)/s,
    );
    // `compare` does not take it for a result of a run.
    expect(await callCli(["compare", "pin.json", "pin.json"], { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("is a result of `pinbench pin`, not a result of a run."),
    });
  });

  it("recommends host-alloc, with the reason, if the driver registers no memory", async () => {
    const { exitCode, pinning } = await pinned(emulatedFaults("cuMemHostRegister_v2:801"), ...small);
    expect(exitCode).toBe(0);
    expect(pinning.recommendation).toMatchObject({ way: "host-alloc" });
    expect(pinning.limits.map(({ largestBytes }) => largestBytes)).toEqual(pinning.limits.map(() => 0));
    expect(pinning.limits[0]!.reason).toMatch(/^the driver registers no memory of programs here/);
  });

  it("exits with 4 if nothing can be pinned or the device is lost, and prints its results", async () => {
    const refused = await pinned(emulatedFaults("cuMemHostRegister_v2:801", "cuMemHostAlloc:2"), ...small);
    expect(refused).toMatchObject({ exitCode: 4, pinning: { recommendation: null, status: "complete" } });
    const lost = await pinned(emulatedFaults("cuMemcpyDtoHAsync_v2:719:after=29"), ...small);
    expect(lost).toMatchObject({ exitCode: 4, pinning: { status: "failed" } });
    expect(lost.stderr).toContain("The device failed: ");
    expect(lost.pinning.recommendation).not.toBeNull();
  });
});

describe("an interrupted pinbench pin", () => {
  /** Signals in a copy of 4 MiB, the one numbered `from` or a later one, which takes a second on any machine. */
  async function interrupted(signal: NodeJS.Signals, from: number) {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "pin.json"), "before");
    const env = {
      ...emulatedFaults(`h2d:slow=1000:after=${from - 1}`),
      PINBENCH_EMULATED_LINK: "4e9",
      PINBENCH_EMULATED_LEAKS: join(cwd, "leaks"),
    };
    const pools = ["--sizes", "32MiB", "--threads", "1,2"];
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
      expect(pinning.pools.map(({ reason }) => reason)).toContain("not reached before the end");
    }
  });

  it("keeps the old file if it has no figure yet, and still prints a JSON document", async () => {
    const { exitCode, stderr, stdout, file, left } = await interrupted("SIGINT", 1);
    expect({ exitCode, file, left }).toEqual({ exitCode: 130, file: "before", left: [] });
    expect(stderr).toContain("interrupted, nothing was measured: nothing was written to pin.json.\n");
    expect(parse(stdout).status).toBe("aborted");
  });
});
