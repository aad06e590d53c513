import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parse } from "yaml";

/** action.yml, each step as a runner of GitHub Actions runs it. */

interface ActionStep {
  id?: string;
  shell?: string;
  run?: string;
  uses?: string;
  env?: Record<string, string>;
  with?: Record<string, string>;
}

const { tarball, app } = inject("installed");
const root = fileURLToPath(new URL("../..", import.meta.url));
const action = parse(readFileSync(join(root, "action.yml"), "utf8"));
const steps: ActionStep[] = action.runs.steps;

let temp = "";
beforeAll(() => {
  temp = mkdtempSync(join(tmpdir(), "pinbench action-"));
});
afterAll(() => rmSync(temp, { recursive: true, force: true }));

const fileIn = (name: string) => readFileSync(join(temp, name), "utf8");

/** Runs all steps with a shell, until one fails; returns the exit code of the last one. */
function runAction(inputs: Record<string, string>, environment: NodeJS.ProcessEnv = {}): number | null {
  const filled = (text: string) =>
    text.replaceAll(/\$\{\{ (\w+)\.([\w-]+) \}\}/g, (_, where, name) =>
      where === "runner" ? temp : (inputs[name] ?? action.inputs[name].default),
    );
  const files = { GITHUB_OUTPUT: join(temp, "output"), GITHUB_STEP_SUMMARY: join(temp, "summary") };
  for (const { run, env = {} } of steps) {
    if (run === undefined) continue;
    const own = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)]));
    const { status } = spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", run], {
      env: { ...process.env, ...environment, ...files, RUNNER_TEMP: temp, GITHUB_ACTIONS: "true", ...own },
      cwd: temp,
      stdio: "inherit",
    });
    if (status !== 0) return status;
  }
  return 0;
}

describe("action.yml", () => {
  it("is a composite action of described inputs, and pins others to a major version", () => {
    expect(action.runs.using).toBe("composite");
    for (const { description } of Object.values<{ description: string }>(action.inputs)) {
      expect(description).toMatch(/\.$/);
    }
    for (const { uses, shell } of steps) expect(uses ?? shell).toMatch(/^(bash|actions\/[\w-]+@v\d+)$/);
  });

  it("installs a package, checks, and leaves a summary and what it uploads", () => {
    const program = join(app, "node_modules/.bin/pinbench");
    const plan = "--backend emulated --preset quick --sizes 64KiB --memory pinned --runs 3 --quiet".split(
      " ",
    );
    expect(spawnSync(program, ["baseline", "gpu1", ...plan], { cwd: temp, stdio: "inherit" }).status).toBe(0);
    const inputs = { package: tarball, baseline: "gpu1", flags: "--runs 2 --threshold 90%" };
    expect(runAction(inputs)).toBe(0);
    expect(fileIn("output")).toBe("exit-code=0\n");
    expect(fileIn("summary")).toContain("H2D");
    const uploaded = steps.flatMap((step) => step.with?.path?.trim().split("\n") ?? []);
    expect(uploaded).toHaveLength(2);
    for (const path of uploaded) {
      expect(existsSync(path.trim().replace(/^\S+ runner\.temp \}\}/, temp)), path).toBe(true);
    }
    // A device with a twentieth of the rate.
    rmSync(join(temp, "output"));
    expect(runAction(inputs, { PINBENCH_EMULATED_LINK: "4e8" })).toBe(1);
    expect(fileIn("output")).toBe("exit-code=1\n");
  });
});
