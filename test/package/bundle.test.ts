import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { makeHostRoot, rootMissing, runInRoot } from "../../scripts/lib/bare-root.mjs";
import { setUpCommand } from "../helpers/set-up-commands.js";

const { hasKernels } = inject("installed");
const root = fileURLToPath(new URL("../..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const name = `pinbench-${version}-linux-${process.arch}`;
const quick = ["--preset", "quick", "--backend", "emulated"];

/** Holds the bundle and its hash, and it unpacked by README's command, which prints `ran`. */
let folder = "";
let unpacked = "";
let ran = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench bundle & 測定-"));
  const flags = ["--out", join(folder, `${name}.tar.xz`), "--level", "0"];
  start(process.execPath, ["scripts/bundle.mjs", ...flags, ...(hasKernels ? [] : ["--without-kernels"])], {
    cwd: root,
  });
  const command = `${setUpCommand("tar")} ${quick.join(" ")}`;
  ran = start("/bin/sh", ["-c", command], { cwd: folder, env: { PATH: "/bin:/usr/bin" } });
  unpacked = join(folder, name);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a command prints that ends well and has nothing to complain about. */
function start(command: string, args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, { ...options, encoding: "utf8" });
  expect({ status, stderr }, `${command} ${args.join(" ")}`).toEqual({ status: 0, stderr: "" });
  return stdout;
}

describe("the bundle", () => {
  it("is unpacked and run by README's one command, in a folder whose name is not easy on scripts", () => {
    expect(ran).toMatch(/^ +H2D +32 MiB +[\d.]+ .*× +-$/m);
  });

  it("runs through a link to it, and without an environment", () => {
    const link = join(folder, "pinbench");
    symlinkSync(join(unpacked, "pinbench"), link);
    const { addon, node } = JSON.parse(start("/usr/bin/env", ["-i", link, "--version", "--json"]));
    expect(node).toBe(process.version);
    expect(addon).toMatchObject({ source: "prebuilt", sanitizer: null });
    expect(addon.path).toBe(join(unpacked, "prebuilds/linux-x64/pinbench.node"));
    if (hasKernels) expect(addon.kernels).toBe(true);
  });

  it("has all that the commands for one slow machine and for many need", () => {
    const healthy = "generation=1:width=2:maxGeneration=1:maxWidth=2";
    const env = { PINBENCH_EMULATED_NVML: healthy, PINBENCH_EMULATED_LINK: "5e8" };
    const program = join(unpacked, "pinbench");
    const examine = ["doctor", "--backend", "emulated", "--preset", "quick", "--json"];
    const { stdout } = spawnSync(program, examine, { env, encoding: "utf8" });
    // A machine that others keep busy may be slow; what it was held against has been read.
    const [device] = JSON.parse(stdout).devices;
    expect(device.rates[0]).toMatchObject({ expectedGigabytesPerSecond: 0.5 });
    // Launchers hand paths to shells, and so it is called by a plain one.
    const plain = mkdtempSync(join(tmpdir(), "pinbench-fleet-"));
    symlinkSync(program, join(plain, "pinbench"));
    const [node, output] = ["env PINBENCH_NODE_NAME=n01", join(plain, "fleet")];
    const measured = ["--preset", "quick", "--backend", "emulated"];
    const launch = ["--nodes", "1", "--launcher", node, "--pinbench", join(plain, "pinbench")];
    // One node has no others to be compared with.
    const { status } = spawnSync(program, [
      "fleet",
      "run",
      ...launch,
      "--output",
      output,
      ...measured,
      "--quiet",
    ]);
    expect(status).toBe(6);
    expect(readdirSync(output).sort()).toEqual(["fleet-run.json", "n01.json"]);
    expect(existsSync(join(unpacked, "dist/program/launch-guard.js"))).toBe(true);
    rmSync(plain, { recursive: true });
  });

  it("has a licence of all that it brings, and a list of it with Node", () => {
    const sbom = JSON.parse(readFileSync(join(unpacked, "sbom.cdx.json"), "utf8"));
    const listed = sbom.components.map(
      (one: { name: string; version: string }) => `${one.name}@${one.version}`,
    );
    expect(listed).toContain(`node@${process.versions.node}`);
    expect(sbom).not.toHaveProperty("serialNumber");
    for (const one of ["", "runtime"]) expect(readdirSync(join(unpacked, one)), one).toContain("LICENSE");
    const licences = readFileSync(join(unpacked, "dist/program/LICENSES"), "utf8");
    const brought = [...licences.matchAll(/^## (\S+)\n\n/gm)].map(([, name]) => name);
    expect(sbom.components.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(brought),
    );
  });
});

describe("in a file system with a shell and the C library alone", () => {
  const missing = rootMissing();
  if (missing !== null) console.warn(`The bundle was not tried in a bare file system: ${missing}.`);
  const inRoot = it.skipIf(missing !== null);
  const user = 65534;
  let bare = "";

  beforeAll(async () => {
    if (missing !== null) return;
    bare = join(folder, "bare");
    await makeHostRoot(bare);
  });

  /** The arguments of an instruction, each of which stands on one line. */
  function instructions(wanted: string): string[] {
    const text = readFileSync(join(root, "Dockerfile"), "utf8");
    return [...text.matchAll(new RegExp(`^${wanted} (.+)$`, "gm"))].map(([, line]) => line!);
  }

  inRoot("the steps of the Dockerfile make an image, whose user measures", () => {
    for (const line of instructions("ADD")) {
      const [source = "", target = ""] = line.split(" ");
      start("/bin/sh", ["-c", `tar -xf ${source} -C "$0"`, join(bare, target)], { cwd: folder });
    }
    for (const line of instructions("RUN")) {
      expect(runInRoot(bare, ["/bin/sh", "-c", line])).toMatchObject({ status: 0, stderr: "" });
    }
    expect(instructions("USER")).toEqual([`${user}:${user}`]);
    const entry = instructions("ENTRYPOINT").flatMap((line) => JSON.parse(line) as string[]);
    const { status, stdout, stderr } = runInRoot(bare, [...entry, "run", ...quick], { user });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^ +H2D +32 MiB +[\d.]+ .*× +-$/m);
  });
});
