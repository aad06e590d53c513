import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
// @ts-expect-error A script without types.
import { filesIn, filesOf, folderNames } from "../../scripts/mutation/folders.mjs";
import { FakeCheckout } from "./fake-checkout.js";

const source = "src/cli/main.ts";

describe.skipIf(spawnSync("git", ["--version"]).status !== 0)("mutants.mjs", () => {
  let checkout: FakeCheckout;
  beforeEach(() => {
    checkout = new FakeCheckout();
    checkout.write(".gitignore", "node_modules\ndist\nbuild\n*.log\n");
    checkout.write(source, "one two two");
  });
  afterEach(() => checkout.delete("."));

  const git = (...args: string[]) => spawnSync("git", args, { cwd: checkout.root, encoding: "utf8" }).stdout;
  const content = () => readFileSync(join(checkout.root, source), "utf8");

  /** Commits the checkout with these mutants; each is completed to one that its test notices. */
  function commit(...mutants: object[]): void {
    const complete = {
      file: source,
      find: "one",
      replace: "1",
      test: `grep one ${source}`,
      what: "one is 1",
    };
    checkout.write(
      "test/mutants.json",
      JSON.stringify(mutants.map((mutant) => ({ ...complete, ...mutant }))),
    );
    git("init", "-q");
    git("add", "-A");
    git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x");
  }

  it("tells which are noticed, and fails unless all are", () => {
    commit({}, { test: "true", what: "no test looks" });
    expect(checkout.run("mutants.mjs")).toMatchObject({
      status: 1,
      output:
        "noticed      src/cli/main.ts: one is 1\n" +
        "NOT NOTICED  src/cli/main.ts: no test looks\n  true\n" +
        "1 of 2 mutants were noticed\n",
    });
    expect(content()).toBe("one two two");
    expect(git("status", "--porcelain")).toBe("");
  });

  it("passes if all are noticed, and compiles src/ with the mutant and without it", () => {
    // Twice: for Node, and for what runs in a page.
    commit({ test: "[ $(grep -c tsc calls.log) -eq 2 ]" });
    expect(checkout.run("mutants.mjs")).toMatchObject({ status: 0, calls: ["tsc", "cmake-js"] });
    expect(checkout.run("prepare.mjs").calls).toEqual([]);
  });

  it.each([
    [{ find: "three" }, "DOES NOT APPLY .*\n {2}the text occurs 0 times"],
    [{ find: "two" }, "DOES NOT APPLY .*\n {2}the text occurs 2 times"],
    [{ file: "src/none.ts" }, "DOES NOT APPLY .*\n {2}ENOENT"],
    [{ test: "echo broken; exit 1" }, "TEST FAILS WITHOUT IT .*\n {2}echo broken; exit 1\nbroken"],
  ])("takes none for noticed that was not tried: %j", (mutant, message) => {
    commit(mutant);
    const { status, output } = checkout.run("mutants.mjs");
    expect({ status, output }).toEqual({ status: 1, output: expect.stringMatching(message) });
    expect(content()).toBe("one two two");
  });

  it("refuses a tree with changes, which it could not tell from a mutant", () => {
    commit({});
    checkout.write(source, "one two three");
    const { status, output } = checkout.run("mutants.mjs");
    expect({ status, output }).toEqual({ status: 1, output: expect.stringContaining("clean working tree") });
    expect(content()).toBe("one two three");
  });

  it("takes the mutant out when it is interrupted", async () => {
    commit({ test: `if grep one ${source}; then true; else echo > begun.log; sleep 60; fi` });
    const child = spawn(process.execPath, [join(checkout.root, "scripts/mutants.mjs")], { stdio: "ignore" });
    const ended = once(child, "exit");
    while (!existsSync(join(checkout.root, "begun.log"))) await sleep(5);
    expect(content()).toBe("1 two two");
    child.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
    expect(content()).toBe("one two two");
    expect(git("status", "--porcelain")).toBe("");
  });
});

describe("the folders of npm run mutate", () => {
  it.each<string>(folderNames)("has all files that it chooses: %s", (name) => {
    expect(Object.values(filesOf(name)).flat().length).toBeGreaterThan(2);
  });

  it.each([
    [{ "src/pin": ["recommend-pool", "renamed"] }, "src/pin/renamed.ts"],
    [{ "src/renamed": null }, "src/renamed/*.ts"],
    [{ "src/renamed": ["stats"] }, "src/renamed/stats.ts"],
    [{ docs: null }, "docs/*.ts"],
  ])("may not choose a file that is not there: %j", (folders, missing) => {
    expect(() => filesIn(folders, ".ts")).toThrow(
      `scripts/mutation/folders.mjs chooses ${missing}, which does not exist: was it renamed?`,
    );
  });
});

it("every mutant applies: what it replaces is in its file once, and its tests are there", () => {
  const mutants: { file: string; find: string; test: string; what: string }[] = JSON.parse(
    readFileSync("test/mutants.json", "utf8"),
  );
  const applies = ({ file, find, test }: (typeof mutants)[0]) =>
    existsSync(file) &&
    readFileSync(file, "utf8").split(find).length === 2 &&
    [...test.matchAll(/\btest\/\S+/g)].every(([path]) => existsSync(path));
  expect(mutants.filter((mutant) => !applies(mutant)).map(({ what }) => what)).toEqual([]);
});
