import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { parseResult } from "../../src/results/parse.js";
import { restingLink, runSmall, small, startCli, temporaryFolder } from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

describe("pinbench run --output", () => {
  it("writes several files, each in the format of its extension, beside what it prints", async () => {
    const cwd = temporaryFolder();
    const files = ["a.json", "b.csv", "c.md", "d.txt"];
    const { exitCode, stdout } = await runSmall(
      ["--memory", "pinned", "--verbose", ...files.flatMap((file) => ["--output", file])],
      { cwd },
    );
    expect(exitCode).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(files);
    const [json, csv, markdown, table] = files.map((file) => readFileSync(join(cwd, file), "utf8"));
    expect(schemaErrors(JSON.parse(json!))).toBeNull();
    expect(csv).toMatch(/^id,/);
    expect(markdown).toMatch(/^## pinbench: /);
    expect(table).toBe(stdout);
    for (const text of [json, csv, markdown, table]) expect(text).toContain(emulatedNotice);
  });

  it("has no colours in files, even if stdout has", async () => {
    const cwd = temporaryFolder();
    const { stdout } = await runSmall(["--memory", "pinned", "--output", "a.txt"], {
      cwd,
      env: { FORCE_COLOR: "1" },
    });
    expect(stdout).toContain("\u001b[");
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).not.toContain("\u001b[");
  });

  it("keeps the rounds in FILE.partial, and replaces FILE only at the end", async () => {
    const cwd = temporaryFolder();
    const file = join(cwd, "a.json");
    writeFileSync(file, "before");
    const { child, finished } = startCli(
      small("--budget", "2s", "--precision", "0.001%", "--quiet", "--output", "a.html", "--output", file),
      { cwd, env: restingLink },
    );
    while (!existsSync(`${file}.partial`)) {
      if (child.exitCode !== null) throw new Error("it ended without FILE.partial");
      await sleep(20);
    }
    // A page takes long to draw, and nobody looks at it yet.
    expect(readdirSync(cwd)).not.toContain("a.html.partial");
    const partial = parseResult(readFileSync(`${file}.partial`, "utf8"));
    expect(partial.run).toMatchObject({ status: "running", finishedAt: null });
    expect(partial.cells.length).toBeGreaterThan(0);
    expect(partial.cells.every(({ samples }) => samples.length > 0)).toBe(true);
    expect(readFileSync(file, "utf8")).toBe("before");

    expect((await finished).exitCode).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(["a.html", "a.json"]);
    expect(parseResult(readFileSync(file, "utf8")).run.status).toBe("complete");
  });
});
