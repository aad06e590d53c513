import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { buildEntry } from "../helpers/history.js";
import { writeNodes } from "../helpers/recorded-nodes.js";

const { app } = inject("installed");

/** The documented example, made small: whatever it measures, and wherever. */
const reference = readFileSync(new URL("../../docs/reference.md", import.meta.url), "utf8");
const [, documented = ""] = /^```js\n([\s\S]*?)^```$/m.exec(reference) ?? [];
const example = documented
  .replaceAll('run({ preset: "quick"', 'run({ preset: "quick", backend: "emulated", sizes: "1MiB"')
  .replace("await devices()", 'await devices({ backend: "emulated" })')
  .replace('doctor({ preset: "quick"', 'doctor({ preset: "quick", backend: "emulated"')
  .replace('sizes: "64MiB"', 'sizes: "4MiB", backend: "emulated"')
  .replace("questions: [", 'backend: "emulated", questions: [')
  .replace("batchSize: 16", 'batchSize: 16, backend: "emulated", maxWorkers: 1');

function start(command: string, args: string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: app, encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("the documented example of the library", () => {
  it("runs in a project that has the package", () => {
    expect(example).toContain('from "pinbench"');
    writeFileSync(join(app, "example.mjs"), example);
    mkdirSync(join(app, "checks"), { recursive: true });
    const checks = [0, 1, 2].map((day) => `${JSON.stringify(buildEntry(day))}\n`);
    writeFileSync(join(app, "checks", "history.jsonl"), checks.join(""));
    writeNodes(join(app, "results"), 6, (host) => (host === "n02" ? 0.5 : 1));
    const { status, stdout, stderr } = start(process.execPath, ["example.mjs"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^d0\/h2d\/pinned\/1048576\/w1\/throughput\/cold [\d.]+$/m);
    expect(stdout).toMatch(
      /^(pass|regression|undecided) \[\n(?: {2}'(?:pageable|host|pinned): [a-z ]+',?\n){6}\]$/m,
    );
    expect(stdout).toMatch(/^inconclusive \[/m);
    expect(stdout).toMatch(/'n02'/);
    expect(stdout).toMatch(/^ {2}numWorkers: [01],$/m);
  });

  it("has types, which are checked along with Node's", () => {
    writeFileSync(
      join(app, "example.mts"),
      `${example}\n// @ts-expect-error No such preset.\nawait run({ preset: "huge" });\n`,
    );
    const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
    const tsc = join(dirname(typescript), "bin/tsc");
    const types = join(dirname(typescript), "../@types");
    const flags = ["--noEmit", "--strict", "--module", "nodenext", "--typeRoots", types, "--types", "node"];
    expect(start(process.execPath, [tsc, ...flags, "example.mts"])).toMatchObject({ status: 0, stdout: "" });
  });
});
