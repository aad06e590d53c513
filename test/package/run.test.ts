import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { asNobody, isRoot, nobody } from "./users.js";

const { app, nodes, missingNodes, path } = inject("installed");
const program = join(app, "node_modules/pinbench/bin/pinbench.js");
const quick = ["run", "--preset", "quick", "--backend", "emulated"];

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "pinbench-home-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function start(command: string[], env: NodeJS.ProcessEnv) {
  const [file = "", ...args] = command;
  const { status, stdout, stderr, signal } = spawnSync(file, args, {
    cwd: home,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { status, signal, stdout, stderr };
}

/** The whole of what a user sees of a run that went well. */
function expectTable(finished: ReturnType<typeof start>): void {
  expect(finished).toMatchObject({ status: 0, signal: null, stderr: "" });
  for (const direction of ["H2D", "D2H"]) {
    expect(finished.stdout).toMatch(new RegExp(`^ +${direction} +32 MiB +[\\d.]+ .*× +-$`, "m"));
  }
}

describe.each(["20", "22", "24"])("Node %s", (major) => {
  const node = nodes[major] ?? "";
  const found = it.skipIf(node === "");

  if (node === "") console.warn(missingNodes[major]);

  found("runs from a path with spaces and letters of all kinds, without a compiler", () => {
    expectTable(start([node, program, ...quick], { PATH: path, HOME: home }));
    expect(existsSync(join(home, ".cache/pinbench/loaded.json"))).toBe(true);
  });

  found("runs without an environment", () => {
    expectTable(start(["/usr/bin/env", "-i", node, program, ...quick], {}));
  });

  found("runs in a home that cannot be written, as another user", () => {
    if (isRoot) chownSync(home, nobody, nobody);
    chmodSync(home, 0o555);
    expectTable(
      start([...asNobody, node, program, ...quick], { ...process.env, PATH: process.env.PATH, HOME: home }),
    );
    expect(existsSync(join(home, ".cache"))).toBe(false);
  });

  found("runs with stdin closed", () => {
    const command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", node, program, ...quick];
    expectTable(start(command, { PATH: path, HOME: home }));
  });
});

describe("npx", () => {
  it("finds pinbench without a network", () => {
    const env = { PATH: path, HOME: home };
    const { status, stdout } = spawnSync("npx", ["--offline", "pinbench", "--version"], {
      cwd: app,
      env,
      encoding: "utf8",
    });
    const { version } = JSON.parse(readFileSync(join(app, "node_modules/pinbench/package.json"), "utf8"));
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(`^${version} \\(commit .*\\)\n$`),
    });
  });
});
