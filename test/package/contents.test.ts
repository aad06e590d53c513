import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";

const { app, tarball, hasKernels } = inject("installed");
const modules = join(app, "node_modules");
const inPackage = (...parts: string[]) => join(modules, "pinbench", ...parts);

/** Packages below a folder of modules; those of a scope one level deeper. */
function packagesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => (name.startsWith("@") ? readdirSync(join(folder, name)) : [name]));
}

describe("the package", () => {
  it("is small and needs few other packages", () => {
    expect(statSync(tarball).size).toBeLessThan(1.22e6);
    // What it runs is part of it; the other has the types of zod.
    expect(packagesIn(modules).sort()).toEqual(["pinbench", "zod"]);
  });

  it("runs nothing as it is installed", () => {
    const { scripts } = JSON.parse(readFileSync(inPackage("package.json"), "utf8"));
    for (const name of ["preinstall", "install", "postinstall"]) expect(scripts).not.toHaveProperty(name);
    // npm would compile it.
    expect(existsSync(inPackage("binding.gyp"))).toBe(false);
  });

  it("has all compiled files", () => {
    const folder = inPackage("prebuilds", `linux-${process.arch}`);
    expect(readdirSync(inPackage("prebuilds"))).toEqual([`linux-${process.arch}`]);
    expect(readdirSync(folder).sort()).toEqual([
      "SHA256SUMS",
      "libpinbench_emulated.so",
      "libpinbench_trace.so",
      "pinbench.node",
    ]);
  });

  it("has the hashes of compiled files, as sha256sum reads them", () => {
    const folder = inPackage("prebuilds", `linux-${process.arch}`);
    const { status, stdout } = spawnSync("sha256sum", ["--check", "SHA256SUMS"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: "pinbench.node: OK\nlibpinbench_emulated.so: OK\nlibpinbench_trace.so: OK\n",
    });
  });

  it("is only for the systems for which it is compiled", () => {
    const { os, cpu, libc } = JSON.parse(readFileSync(inPackage("package.json"), "utf8"));
    expect({ os, cpu, libc }).toEqual({ os: ["linux"], cpu: ["x64", "arm64"], libc: ["glibc"] });
  });

  it("has its kernels in the compiled files", () => {
    const program = inPackage("bin/pinbench.js");
    const { stdout } = spawnSync(process.execPath, [program, "--version", "--json"], { encoding: "utf8" });
    const { addon } = JSON.parse(stdout);
    expect(addon).toMatchObject({ source: "prebuilt", sanitizer: null });
    if (hasKernels) expect(addon.kernels).toBe(true);
  });

  it("has the programs that it starts", () => {
    const programs = ["launch-guard", "family-guard"].map((name) => `program/${name}.js`);
    for (const file of programs) {
      expect(existsSync(inPackage("dist", file)), file).toBe(true);
    }
  });

  it("has nothing that is for its development alone", () => {
    const top = readdirSync(inPackage()).filter((name) => !/^(LICENSE|[A-Z]+\.md|package\.json)$/.test(name));
    expect(top.sort()).toEqual(["bin", "cuda", "dist", "docs", "prebuilds", "schema"]);
  });
});
