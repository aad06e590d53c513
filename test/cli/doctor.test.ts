import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Diagnosis, diagnosisSchema } from "../../src/doctor/diagnosis.js";
import { emulatedNodes } from "../helpers/emulated-nodes.js";
import { callCli } from "../helpers/in-process.js";
import { untilInSlowCopy } from "../helpers/processes.js";
import { emulatedFaults, emulatedNvml, startCli, temporaryFolder } from "../helpers/run-cli.js";

/*
 * Emulated devices with one fault each. The link is slow, so that a busy machine keeps up with it. bench/doctor.mjs
 * measures which losses are found, as no test may fail on a noisy machine. The devices have little memory, so that copies
 * are small and tests short.
 */

const linkOf = (width: number) => ({ generation: 1, width, maxGeneration: 1, maxWidth: width });

/** A copy takes 33 ms, so that few are made, and disturbances are short compared with one. */
const healthyLink = linkOf(2);

/** A machine with such an NVML, whose links carry 0.25 GB/s a lane, as those of generation 1 do. */
const machine = (nvml: typeof healthyLink & Record<string, unknown>, more: Record<string, string> = {}) => ({
  PINBENCH_EMULATED_LINK: String(0.25e9 * nvml.width),
  PINBENCH_EMULATED_MEMORY: "100MiB",
  PINBENCH_EMULATED_NVML: emulatedNvml(nvml),
  ...more,
});

const doctor = (...args: string[]) => ["doctor", "--backend", "emulated", ...args];

/** The diagnosis that is printed as JSON, with the exit code. */
async function examined(env: Record<string, string>, ...args: string[]) {
  const { exitCode, stdout, stderr } = await callCli(doctor("--json", "--quiet", ...args), { env });
  expect(stderr).toBe("");
  return { exitCode, diagnosis: diagnosisSchema.parse(JSON.parse(stdout)) };
}

/** The causes that cost bandwidth, what costs most first. */
const costly = ({ findings }: Diagnosis) =>
  findings.filter(({ weight }) => weight === "costs").map(({ cause }) => cause);

/** The diagnosis of a healthy device, which is examined once. */
let ofHealthy: ReturnType<typeof examined> | undefined;
const examinedHealthy = () => {
  ofHealthy ??= examined(machine({ ...healthyLink, clockReasons: ["gpu-idle"] }), "--preset", "quick");
  return ofHealthy;
};

it.skipIf(existsSync("/dev/nvidiactl"))("pinbench doctor exits with 3 if there is no driver", async () => {
  const { exitCode, stdout } = await callCli(["doctor", "--preset", "quick", "--format", "nhc"]);
  expect(exitCode).toBe(3);
  expect(stdout).toMatch(/^ERROR: {2}nhc: .*pinbench doctor: {2}.*there is no driver library libcuda\.so\.1/);
});

describe("pinbench doctor of an emulated device", () => {
  it("names no cause of a loss if the link is healthy", async () => {
    const { diagnosis } = await examinedHealthy();
    const known = diagnosis.findings.map(({ cause }) => cause);
    for (const cause of ["link-narrow", "clocks-held", "device-shared", "wrong-data", "device-fails"]) {
      expect(known).not.toContain(cause);
    }
    expect(diagnosis.devices[0]).toMatchObject({
      link: "PCIe gen1 x2",
      limitGigabytesPerSecond: expect.closeTo(0.5, 6),
      rates: [{ expectedGigabytesPerSecond: 0.5 }, { expectedGigabytesPerSecond: 0.5 }],
    });
    // No copy is faster than its link; the clock that it is held to allows for 2 %.
    for (const { shareOfLimit } of diagnosis.devices[0]!.rates) expect(shareOfLimit).toBeLessThan(1.03);
    expect(diagnosis.unseen.join("\n")).toContain("--preset quick");
  });

  it("finds a link of x2 instead of x16, by its width under load", async () => {
    const nvml = { ...healthyLink, maxWidth: 16, idleGeneration: 1 };
    const { exitCode, diagnosis } = await examined(machine(nvml), "--preset", "quick", "--label", "rack=7");
    expect(exitCode).toBe(1);
    expect(costly(diagnosis)[0]).toBe("link-narrow");
    expect(diagnosis).toMatchObject({
      verdict: "costs",
      labels: { rack: "7" },
      // Where other programs disturb the copies, another cause may follow.
      reason: expect.stringContaining(diagnosis.findings[0]!.summary),
    });
  });

  it("finds another process that copies on the device", async () => {
    // Any existing process that is not pinbench's own.
    const busy = { processes: `${process.ppid}/1GiB`, utilization: 90 };
    const nvml = { ...healthyLink, ...busy, toDeviceBytesPerSecond: 2.5e8 };
    const { exitCode, diagnosis } = await examined(
      machine(nvml, emulatedFaults("all:slow=2")),
      "--preset",
      "quick",
    );
    expect(exitCode).toBe(1);
    expect(costly(diagnosis)[0]).toBe("device-shared");
    expect(diagnosis.findings[0]!.evidence.join()).toContain(`(pid ${process.ppid}, 1 GiB of`);
  });

  it("exits with 7 and names wrong data first, also if the link is narrow", async () => {
    const { exitCode, diagnosis } = await examined(
      machine({ ...healthyLink, maxWidth: 16 }, emulatedFaults("h2d:flip:every=2")),
      "--preset",
      "quick",
    );
    expect(exitCode).toBe(7);
    expect(diagnosis).toMatchObject({ verdict: "inconclusive", reason: expect.stringContaining("wrong") });
    expect(diagnosis.findings[0]!.cause).toBe("wrong-data");
  });

  it("names the NUMA node to use, with --preset quick too, if the system names a slower one", async () => {
    const env = machine(linkOf(8), emulatedNodes({ sysfs: [0], GBps: [[1, 2]] }));
    const { exitCode, diagnosis } = await examined(env, "--preset", "quick");
    expect(exitCode).toBe(1);
    // On a busy machine other causes may cost more.
    const found = diagnosis.findings.find(({ cause }) => cause === "numa-far");
    expect(found).toMatchObject({ weight: "costs" });
    expect(found!.fix).toContain("numactl --cpunodebind=1 --membind=1");
  });

  it.each([
    ["fifth", linkOf(8), "after=2:every=5"],
    // The same period as that of a warm-up copy, a compared copy and another one.
    ["third", linkOf(4), "every=3"],
  ])("sees with --preset quick that every %s copy from the device is wrong", async (_, link, which) => {
    const wrong = emulatedFaults(`d2h:flip:${which}`);
    const { exitCode, diagnosis } = await examined(machine(link, wrong), "--preset", "quick");
    expect({ exitCode, cause: diagnosis.findings[0]!.cause }).toEqual({ exitCode: 7, cause: "wrong-data" });
    expect(diagnosis.findings[0]!.action).toBe("isolate");
  });

  describe("with a site's own reference", () => {
    const written = (contents: string) => {
      const path = join(temporaryFolder(), "site.json");
      writeFileSync(path, contents);
      return path;
    };
    const entry = {
      alone: { h2d: 0.4, d2h: 0.4 },
      together: null,
      tolerance: 0.05,
      sources: ["node07.json"],
    };

    it("compares with the site's machines rather than with the built-in reference", async () => {
      const { diagnosis: plain } = await examinedHealthy();
      const path = written(JSON.stringify({ listed: [{ gpu: plain.devices[0]!.name, ...entry }] }));
      const { diagnosis } = await examined(machine(healthyLink), "--preset", "quick", "--reference", path);
      expect(diagnosis.devices[0]).toMatchObject({
        reference: expect.stringContaining("this site's own recordings of the "),
        rates: [{ expectedGigabytesPerSecond: 0.2 }, { expectedGigabytesPerSecond: 0.2 }],
      });
    });
  });

  it("examines the other devices if one fails", async () => {
    const more = {
      PINBENCH_EMULATED_DEVICES: "2",
      ...emulatedFaults("cuDevicePrimaryCtxRetain:2:nth=1"),
    };
    const { exitCode, diagnosis } = await examined(machine(healthyLink, more), "--preset", "quick");
    expect(exitCode).toBe(4);
    expect(diagnosis.findings[0]).toMatchObject({ cause: "device-fails", device: 0 });
    // Only memory was short: the device may be healthy.
    expect(diagnosis.findings[0]!.fix).toContain("when enough memory is free");
    expect(diagnosis.devices[0]!.rates[0]!.gigabytesPerSecond).toBeNull();
    expect(diagnosis.devices[1]!.rates[0]!.gigabytesPerSecond).toBeGreaterThan(0);
  });

  it("reports all devices as failing once the process has lost its CUDA contexts", async () => {
    const more = {
      PINBENCH_EMULATED_DEVICES: "2",
      ...emulatedFaults("cuMemcpyHtoDAsync_v2:700:after=1"),
    };
    const { exitCode, diagnosis } = await examined(machine(healthyLink, more), "--preset", "quick");
    expect(exitCode).toBe(4);
    expect(diagnosis.findings.filter(({ cause }) => cause === "device-fails")).toHaveLength(2);
  });

  it("exits with 130 on Ctrl-C, prints nothing on stdout and writes no file", async () => {
    const cwd = temporaryFolder();
    const { child, finished } = startCli(doctor("--output", "d.json"), {
      cwd,
      env: { ...machine(healthyLink), PINBENCH_EMULATED_LINK: "5e7" },
    });
    // Each copy takes more than a second.
    await untilInSlowCopy(child.pid!);
    child.kill("SIGINT");
    const { exitCode, stdout, stderr } = await finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    expect(stderr).toContain("nothing was written to d.json");
  });
});

describe("pinbench doctor of an emulated device without a link", () => {
  it("is inconclusive, and says on stdout and in each file that it cannot judge the device", async () => {
    const cwd = temporaryFolder();
    const outputs = ["d.json", "d.md", "d.html"].flatMap((name) => ["--output", name]);
    const args = doctor("--preset", "quick", ...outputs, "--format", "nhc");
    const env = { PINBENCH_EMULATED_MEMORY: "100MiB" };
    const { exitCode, stdout, stderr } = await callCli(args, { cwd, env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 4, stderr: "" });
    expect(stdout).toMatch(/^WARNING: {2}pinbench doctor: {2}Cannot judge an emulated device without a link/);
    expect(diagnosisSchema.parse(JSON.parse(readFileSync(join(cwd, "d.json"), "utf8"))).verdict).toBe(
      "inconclusive",
    );
    expect(readFileSync(join(cwd, "d.md"), "utf8")).toContain(
      "## pinbench doctor: Cannot judge an emulated device without a link",
    );
    expect(readFileSync(join(cwd, "d.html"), "utf8")).toMatch(
      /^<!doctype html>.*Cannot judge an emulated device/s,
    );
  });
});

describe("a run over a link that is slower than it should be", () => {
  const args = ["run", "--backend", "emulated", "--sizes", "32MiB", "--samples", "1"];
  const plain = [...args, "--workers", "1", "--memory", "pinned", "--direction", "h2d", "--cache", "warm"];

  it("recommends pinbench doctor", async () => {
    const env = machine({ ...healthyLink, maxWidth: 16 });
    expect((await callCli(plain, { env })).stderr).toMatch(
      /H2D pinned copies reach \S+ GB\/s, and those of healthy machines 4\.00 GB\/s: pinbench doctor says why\./,
    );
  });
});
