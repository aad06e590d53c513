import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { documents, root, textOf } from "../helpers/documents.js";

const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });

const namesIn = (list: string) => [...list.matchAll(/^ {2}(\w+) {2,}\S/gm)].map(([, name]) => name!);

describe.each([
  ["scripts/check.mjs", /\bnpm run check -- ([a-z]\w*)/g],
  ["bench", /\bnode bench (\w+)/g],
])("node %s", (program, mention) => {
  it("lists every name that the documents mention", () => {
    const mentioned = documents.flatMap((document) => [...textOf(document).matchAll(mention)]);
    expect(mentioned.length).toBeGreaterThan(3);
    expect(namesIn(run(program).stdout)).toEqual(expect.arrayContaining(mentioned.map(([, name]) => name)));
  });

  it("lists its names and fails if the name is unknown", () => {
    const { status, stdout, stderr } = run(program, "toString");
    expect({ status, stdout }).toEqual({ status: 2, stdout: run(program).stdout });
    expect(stderr).toContain("toString");
  });
});

it("node bench lists every program of its folder", () => {
  const files = readdirSync(join(root, "bench")).filter((name) => name.endsWith(".mjs"));
  expect(namesIn(run("bench").stdout).sort()).toEqual(files.map((name) => name.slice(0, -4)).sort());
});

it.each([
  ["scripts/check.mjs", ["native", "--only", "none"], /--only takes plain, asan, tsan, not 'none'/],
  ["bench", ["history", "--none"], /Unknown option '--none'/],
])("node %s passes arguments on: %j", (program, args, error) => {
  expect(run(program, ...args).stderr).toMatch(error);
});
