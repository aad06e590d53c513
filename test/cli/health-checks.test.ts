import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { callCli } from "../helpers/in-process.js";
import { emulatedFaults, emulatedNvml, temporaryFolder } from "../helpers/run-cli.js";

/*
 * The examples of docs/health-checks.md and of the health checks in docs/fleet.md, run as their programs run them, on
 * emulated devices: a healthy one, one with uncorrectable memory errors, and others.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const text = readFileSync(join(root, "docs/health-checks.md"), "utf8");

/** The example below a heading. */
function exampleOf(heading: string): string {
  const section = text.slice(text.indexOf(`## ${heading}\n`));
  return /^```\w+\n([\s\S]*?)^```$/m.exec(section)![1]!;
}

/** Devices have little memory, so that copies are small. */
const withoutLink = { PINBENCH_EMULATED_MEMORY: "100MiB" };
const machine = (width: number, nvml: object) => ({
  ...withoutLink,
  PINBENCH_EMULATED_LINK: String(0.25e9 * width),
  PINBENCH_EMULATED_NVML: emulatedNvml({
    generation: 1,
    width,
    maxGeneration: 1,
    maxWidth: width,
    ...nvml,
  }),
});
/* So slow that other programs on a busy machine cannot make copies much slower: rates are as they should be. */
const healthy = machine(2, {});
const ill = machine(2, { eccErrors: 2 });
const here = ["--backend", "emulated"];
/** GPUs whose driver fails: CUDA does not start, another job holds the device, there is no device, or no driver. */
const gpu = (call: string, result: number) => ({
  PINBENCH_CUDA_LIBRARY: join(root, "build/Release/libpinbench_emulated.so"),
  ...emulatedFaults(`${call}:${result}`),
});
const failing: readonly Record<string, string>[] = [
  gpu("cuInit", 802),
  gpu("cuInit", 999),
  gpu("cuInit", 803),
  gpu("cuDevicePrimaryCtxRetain", 46),
  gpu("cuInit", 100),
  { PINBENCH_CUDA_LIBRARY: "none.so" },
];
const all = [healthy, ill, withoutLink, ...failing];
/** Whether a node stays in use: only if it is healthy or inconclusive. */
const keeps = [true, false, true, false, false, false, true, false, false];

/**
 * Makes programs for one device: `pinbench` runs this one and caches its answers, and `scontrol` prints its
 * arguments.
 */
function programsFor(device: Record<string, string>): string {
  const bin = temporaryFolder();
  const programs = {
    pinbench: `answer="${bin}/answer$(echo "$*" | tr -dc 'a-z0-9')"
if [ ! -e "$answer" ]; then
  "${process.execPath}" "${root}/bin/pinbench.js" "$@" ${device.PINBENCH_CUDA_LIBRARY ? "" : here.join(" ")} > "$answer"
  echo $? > "$answer.code"
fi
cat "$answer"
exit "$(cat "$answer.code")"`,
    scontrol: "printf 'scontrol:'; printf ' <%s>' \"$@\"",
  };
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  programFolders.set(device, bin);
  return bin;
}
const programFolders = new Map<Record<string, string>, string>();

/** Runs a shell's lines on an emulated device. */
function shell(
  script: string,
  device: Record<string, string>,
  more: Record<string, string> = {},
): Promise<{ code: number; stdout: string }> {
  const bin = programFolders.get(device) ?? programsFor(device);
  return new Promise((resolve) => {
    const all = { ...process.env, ...device, ...more, PATH: `${bin}:${process.env.PATH}` };
    execFile("bash", ["-c", script], { env: all }, (error, stdout) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout }),
    );
  });
}

/** Whether the script passes each of the devices. */
async function passes(script: string): Promise<boolean[]> {
  const runs: boolean[] = [];
  for (const env of all) runs.push((await shell(script, env)).code === 0);
  return runs;
}

describe("the documented example for Node Problem Detector", () => {
  const { pluginConfig, conditions, rules } = JSON.parse(exampleOf("Node Problem Detector"));
  const [rule] = rules;

  it("sets a condition that it declares, and allows for output of 320 characters", () => {
    expect(conditions.map(({ type }: { type: string }) => type)).toContain(rule.condition);
    expect(pluginConfig.max_output_length).toBeGreaterThanOrEqual(320);
  });

  it("gets 0 for a healthy, 1 for a broken and 4 for an inconclusive device", async () => {
    const run = (env: Record<string, string>) => callCli([...rule.args, ...here], { env });
    expect((await run(healthy)).exitCode).toBe(0);
    const found = await run(ill);
    expect({ code: found.exitCode, fits: found.stdout.length <= pluginConfig.max_output_length }).toEqual({
      code: 1,
      fits: true,
    });
    expect(found.stdout).toContain("memory had uncorrectable errors");
    // A device without a link.
    expect((await run(withoutLink)).exitCode).toBe(4);
  });
});

describe("the documented example for gpud", () => {
  const [plugin] = parse(exampleOf("gpud"));
  const { parser, steps } = plugin.health_state_plugin;
  const { script } = steps[0].run_bash_script;

  it("reads fields that exist in the JSON, and fails only for a broken node", async () => {
    expect(await passes(script)).toEqual(keeps);
    const broken = await shell(script, ill);
    for (const { query } of parser.json_paths) {
      expect(query).toMatch(/^\$\.\w+$/);
      expect(JSON.parse(broken.stdout)).toHaveProperty(query.slice(2), expect.any(String));
    }
    // Copies that other programs on a busy machine slow down cost something as well.
    expect(JSON.parse(broken.stdout).verdict).toMatch(/^(faulty|costs)$/);
  });
});

describe("the documented example for NVSentinel", () => {
  const [container] = parse(exampleOf("NVSentinel")).preflight.initContainers;

  it("keeps pods from a broken node, but not from an inconclusive one", async () => {
    const [, , script] = container.command;
    expect(container.command.slice(0, 2)).toEqual(["sh", "-c"]);
    expect(await passes(script)).toEqual(keeps);
  });
});

describe("the documented examples for Slurm and Node Health Check", () => {
  const part = /^## Health checks$[\s\S]*/m.exec(readFileSync(join(root, "docs/fleet.md"), "utf8"))![0];
  const [prolog, nhc, program] = [...part.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(
    ([, script]) => script!,
  );
  const [, checked] = /^\* \|\| check_cmd_status -t \d+ -r 0 sh -c '(.*)'$/m.exec(nhc!)!;
  const node = { SLURMD_NODENAME: "n07" };

  it("refuse a broken node, but neither a healthy nor an inconclusive one", async () => {
    for (const script of [prolog!, checked!]) expect(await passes(script)).toEqual(keeps);
  });

  it("drain a broken node with the fault as the reason", async () => {
    const reasons: string[] = [];
    for (const env of all) {
      const { stdout } = await shell(program!, env, node);
      reasons.push(
        /^scontrol: <update> <nodename=n07> <state=drain> <reason=(.*)>$/.exec(stdout)?.[1] ?? stdout,
      );
    }
    const doctor = "ERROR:  nhc:  Health check failed:  pinbench doctor:  ";
    expect(reasons).toEqual([
      "",
      expect.stringMatching(/^ERROR: {2}nhc: .*memory had uncorrectable errors\.$/),
      "",
      `${doctor}CUDA does not start: the fabric manager of this NVSwitch machine is not running.`,
      `${doctor}CUDA does not start: the kernel module nvidia_uvm is missing or broken.`,
      `${doctor}CUDA does not start: the driver's library and kernel module differ in version.`,
      "",
      `${doctor}The CUDA backend is not available: the CUDA driver reports no device.`,
      `${doctor}The CUDA backend is not available: there is no driver library none.so on this machine.`,
    ]);
  });
});

describe("the documented Kubernetes Job", () => {
  const job = parse(exampleOf("A Kubernetes Job"));

  it("prints the diagnosis of a broken device, and is not retried", async () => {
    expect(job).toMatchObject({ apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0 } });
    const [container] = job.spec.template.spec.containers;
    // The image's entry point is pinbench.
    expect(readFileSync(join(root, "Dockerfile"), "utf8")).toContain('ENTRYPOINT ["pinbench"]');
    const { exitCode, stdout } = await callCli([...container.args, ...here, "--preset", "quick"], {
      env: ill,
    });
    expect({ exitCode, kind: JSON.parse(stdout).kind }).toEqual({ exitCode: 1, kind: "diagnosis" });
  });
});

describe("pinbench doctor with --format nhc or nagios", () => {
  const told = (format: string, ...args: string[]) =>
    callCli(["doctor", "--preset", "quick", "--format", format, ...here, ...args], { env: ill });

  it("reports a device with memory errors as a broken node", async () => {
    const health = await told("nhc");
    expect({ exitCode: health.exitCode, line: health.stdout }).toEqual({
      exitCode: 1,
      line: expect.stringMatching(/^ERROR: {2}nhc: .*memory had uncorrectable errors/),
    });
    const plugin = await told("nagios");
    expect({ exitCode: plugin.exitCode, line: plugin.stdout }).toEqual({
      exitCode: 2,
      line: expect.stringMatching(
        /^PINBENCH CRITICAL - .* \| gpu0_h2d_gb_per_s=[\d.]+;;;0; gpu0_d2h_gb_per_s/,
      ),
    });
  });
});
