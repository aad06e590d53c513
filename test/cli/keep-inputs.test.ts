import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { baselineAt, certainly, expectSentence, filesIn, sides } from "../helpers/baseline-folder.js";
import { folderOf } from "../helpers/config.js";
import { callCli } from "../helpers/in-process.js";
import { temporaryFolder } from "../helpers/run-cli.js";

describe("an output is never what a command reads", () => {
  it.each([
    ["before", "before is an input, which the output would overwrite"],
    ["before/a.json", "before/a.json lies in the input before, which the output would overwrite"],
    ["before/new.json", "before/new.json lies in the input before, which the output would overwrite"],
    ["after/sub/../a.json", "after/sub/../a.json lies in the input after, which the output would overwrite"],
    ["link.json", "link.json lies in the input before, which the output would overwrite"],
    ["nowhere.json", "nowhere.json lies in the input before, which the output would overwrite"],
    ["folder/b.xml", "folder/b.xml lies in the input before, which the output would overwrite"],
  ])("compare --output %s", async (path, sentence) => {
    const cwd = sides({});
    mkdirSync(join(cwd, "after/sub"));
    symlinkSync("before/a.json", join(cwd, "link.json"));
    symlinkSync("before/none.json", join(cwd, "nowhere.json"));
    symlinkSync("before", join(cwd, "folder"));
    const before = filesIn(join(cwd, "before"));
    const args = ["compare", "before", "after", "--output", "good.json", "--output", path];
    // That a folder's name has no extension of a format is found first.
    const refusal = path === "before" ? /before has no extension/ : new RegExp(`: ${sentence}`);
    expectSentence(await callCli(args, { cwd }), 2, refusal);
    expect(filesIn(join(cwd, "before"))).toEqual(before);
  });

  it("a single file, by whatever name", async () => {
    const cwd = sides({});
    symlinkSync("before/a.json", join(cwd, "link.json"));
    const text = readFileSync(join(cwd, "before/a.json"), "utf8");
    for (const [input, output] of [
      ["before/a.json", "before/a.json"],
      ["before/a.json", "link.json"],
      ["link.json", "before/a.json"],
    ] as const) {
      const args = ["compare", input, "after/b.json", "--output", output];
      expectSentence(
        await callCli(args, { cwd }),
        2,
        new RegExp(`: ${output} is an input, which the output would overwrite`),
      );
    }
    expect(readFileSync(join(cwd, "before/a.json"), "utf8")).toBe(text);
    // A name that begins with a folder's is no part of the folder.
    const longer = ["compare", "before", "after", "--output", "before-after.json"];
    expect((await callCli(longer, { cwd })).stderr).toBe("");
    // Beside it is no part of it.
    const args = ["compare", "before/a.json", "after/b.json", "--output", "before/new.json"];
    expect((await callCli(args, { cwd })).stderr).toBe("");
  });

  it("nor the runs that a check keeps", async () => {
    const baseline = await baselineAt(certainly.faster);
    const before = filesIn(baseline);
    const cwd = temporaryFolder();
    symlinkSync(baseline, join(cwd, "main"));
    for (const [flag, path] of [
      ["--output", "main/run.json"],
      ["--keep", "main/kept"],
      ["--history", "main/history"],
      ["--keep", "main/kept/deeper"],
      ["--keep", join(baseline, "kept/deeper")],
    ] as const) {
      const finished = await callCli(["check", "--baseline", "main", flag, path], { cwd });
      expectSentence(
        finished,
        2,
        new RegExp(`: ${path}(/history.jsonl)? lies in the input main, which the output would overwrite`),
      );
    }
    expect(filesIn(baseline)).toEqual(before);
  });

  it("nor the file that is imported", async () => {
    const cwd = folderOf({ "a.json": "{}" });
    const args = ["import", "nvbandwidth", "a.json", "--output", "./a.json"];
    expectSentence(
      await callCli(args, { cwd }),
      2,
      /: \.\/a\.json is an input, which the output would overwrite/,
    );
    expect(readFileSync(join(cwd, "a.json"), "utf8")).toBe("{}");
  });
});
