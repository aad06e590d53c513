import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { makeHostRoot, rootMissing, runInRoot } from "../../scripts/lib/bare-root.mjs";
// @ts-expect-error Scripts are JavaScript without types.
import * as emulation from "../../scripts/lib/emulated-node.mjs";
// @ts-expect-error Scripts are JavaScript without types.
import { nodeFor } from "../../scripts/lib/platforms.mjs";

const { tarball, path, hasKernels } = inject("installed");
const root = fileURLToPath(new URL("../..", import.meta.url));
const quick = ["run", "--preset", "quick", "--backend", "emulated"];
const emulationMissing: string | null = emulation.emulationMissing();
if (process.env.PINBENCH_REQUIRE_ARM64 === "1" && emulationMissing !== null) {
  throw new Error(
    `${emulationMissing}, and PINBENCH_REQUIRE_ARM64=1 demands it. ${emulation.emulationAdvice}`,
  );
}

/** The C library, and the C++ runtime that Node needs. */
const libraries = [
  ...["ld-linux-aarch64.so.1", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"],
  ...["libgcc_s.so.1", "libstdc++.so.6"],
];

describe.skipIf(emulationMissing !== null)("npm's packages on arm64", () => {
  let folder = "";
  let packed = "";
  let app = "";

  /** Packed on this machine; installed by an arm64 Node, so that npm checks what the packages are for. */
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "pinbench-arm64-"));
    start(process.execPath, [
      "scripts/pack-arm64.mjs",
      "--out",
      folder,
      ...(hasKernels ? [] : ["--without-kernels"]),
    ]);
    packed = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz"))!);
    const node = await emulation.writeEmulatedNode(folder);
    app = join(folder, "app");
    mkdirSync(app);
    const npm = realpathSync(join(path, "npm"));
    const flags = ["--prefix", app, "--no-audit", "--no-fund", "--prefer-offline"];
    start(node, [npm, "install", ...flags, tarball, packed]);
  });
  afterAll(() => {
    expect(emulation.endEmulatedNodes(folder)).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });

  function start(command: string, args: string[]): string {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
    expect({ status }, `${command} ${args.join(" ")}\n${stdout}${stderr}`).toEqual({ status: 0 });
    return stdout;
  }

  it("are small: arm64's files do not weigh on others", () => {
    expect(statSync(packed).size).toBeLessThan(0.5e6);
    expect(readdirSync(join(app, "node_modules/pinbench/prebuilds"))).toEqual(["linux-x64"]);
  });

  it.skipIf(rootMissing() !== null)(
    "measure in a file system with Node, a shell and the C library alone",
    async () => {
      const bare = join(folder, "bare");
      await makeHostRoot(bare);
      for (const name of libraries) copyFileSync(join(emulation.libraries, name), join(bare, "lib", name));
      copyFileSync(emulation.requireEmulation(), join(bare, "usr/local/bin/qemu"));
      cpSync(await nodeFor("arm64"), join(bare, "opt/node"));
      cpSync(app, join(bare, "opt/app"), { recursive: true });
      const node = emulation.writeNodeProgram(
        join(bare, "opt"),
        ["/usr/local/bin/qemu", "/opt/node"],
        "/opt",
      );
      const program = [node, "/opt/app/node_modules/pinbench/bin/pinbench.js"];
      const version = runInRoot(bare, [...program, "--version", "--json"]);
      expect(version).toMatchObject({ status: 0, stderr: "" });
      expect(JSON.parse(version.stdout)).toMatchObject({
        platform: "linux-arm64",
        addon: {
          source: "prebuilt",
          path: "/opt/app/node_modules/pinbench-linux-arm64/pinbench.node",
          kernels: hasKernels,
        },
        notUsed: [],
      });
      const run = runInRoot(bare, [...program, ...quick]);
      expect(run).toMatchObject({ status: 0, stderr: "" });
      expect(run.stdout).toMatch(/^ +H2D +32 MiB +[\d.]+ .*× +-$/m);
      expect(existsSync(join(bare, "opt/app/node_modules/pinbench/build"))).toBe(false);
    },
  );
});
