import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** Stands in for tsc and cmake-js: notes its call, then fails if NAME.fails exists, or writes the outputs. */
const fakeTool = (name: string, outFlag: string, outputs: string[]) => `#!/bin/sh
echo "${name}" >> calls.log
if [ -e "${name}.fails" ]; then echo "${name} says what is wrong"; exit 1; fi
while [ "$1" != "${outFlag}" ]; do shift; done
if [ -d "dist-of-${name}" ]; then mkdir -p "$2" && cp -R "dist-of-${name}/." "$2"; fi
for file in ${outputs.join(" ")}; do mkdir -p "$(dirname "$2/$file")" && touch "$2/$file"; done
`;

/** Stands in for rolldown: writes the file that the program starts with. */
const fakeBundler = `import { mkdirSync, writeFileSync } from "node:fs";
export const rolldown = async () => ({
  write: async ({ dir }) => {
    mkdirSync(dir);
    writeFileSync(dir + "/main.js", "");
    return { output: [] };
  },
  close: async () => {},
});
`;

/** A small checkout with the real scripts and fake compilers, so that a build takes no time. */
export class FakeCheckout {
  readonly root = mkdtempSync(join(tmpdir(), "pinbench-setup-"));

  /** A copy of `like` as it is then, if there is one. */
  constructor(like?: FakeCheckout) {
    if (like !== undefined) {
      cpSync(like.root, this.root, { recursive: true });
      return;
    }
    cpSync(resolve(import.meta.dirname, "../../scripts"), join(this.root, "scripts"), { recursive: true });
    for (const file of [
      "src/cli/main.ts",
      "src/tune/python/main.py",
      "src/tune/python/sitecustomize.py",
      "src/explain/program/main.py",
      "src/draw/page/page.css",
      "src/draw/page/page-media.css",
      ...["host-alloc.c", "register.c", "host_alloc.py", "register.py"].map(
        (name) => `src/pin/programs/${name}`,
      ),
      "src/load/programs/register.py",
      "cuda/engine/a.cpp",
      "CMakeLists.txt",
      "package-lock.json",
    ]) {
      this.write(file, "first");
    }
    for (const name of ["typescript", "cmake-js", "node-addon-api"]) this.write(`node_modules/${name}/a`, "");
    this.write("package.json", '{"type":"module","version":"1.0.0"}');
    this.write("node_modules/rolldown/package.json", '{"type":"module","exports":"./index.js"}');
    this.write("node_modules/rolldown/index.js", fakeBundler);
    this.writeTool("tsc", fakeTool("tsc", "--outDir", ["index.d.ts", "draw/page/browser/reading.js"]));
    const built = ["pinbench.node", "libpinbench_emulated.so", "libpinbench_trace.so"].map(
      (name) => `Release/${name}`,
    );
    this.writeTool("cmake-js", fakeTool("cmake-js", "--out", built));
  }

  write(file: string, content: string, mode = 0o644): void {
    const path = join(this.root, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode });
  }

  delete(path: string): void {
    rmSync(join(this.root, path), { recursive: true, force: true });
  }

  /** Runs one of the scripts; `calls` are the compilers it started, each once. */
  run(script: string, env: NodeJS.ProcessEnv = {}) {
    this.delete("calls.log");
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(this.root, "scripts", script)], {
      encoding: "utf8",
      env: { ...process.env, ...env },
    });
    const log = join(this.root, "calls.log");
    const calls = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
    return { status, output: stdout + stderr, calls: [...new Set(calls)] };
  }

  private writeTool(name: string, script: string): void {
    this.write(`node_modules/.bin/${name}`, script, 0o755);
  }
}
