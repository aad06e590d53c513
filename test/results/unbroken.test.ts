import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeFolder, makeFolderSync } from "../../src/results/files/made-folder.js";
import { checkWritable } from "../../src/results/files/store.js";
import { start } from "../helpers/run-cli.js";

const compiled = new URL("../../dist/results/files/made-folder.js", import.meta.url);

/** A process that says "begun" when `work` has begun, and "done" when it is done; and that would then go on. */
function startWork(work: string, listener = "") {
  const program = `
    import { unbroken } from ${JSON.stringify(compiled.href)};
    ${listener}
    setInterval(() => undefined, 1000);
    await unbroken(async () => {
      process.stdout.write("begun ");
      ${work}
      process.stdout.write("done ");
    });
    process.stdout.write("and on ");`;
  return start(process.execPath, ["--input-type=module", "-e", program]);
}

const moment = "await new Promise((resolve) => setTimeout(resolve, 300));";

describe("a signal while a file is half made", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s ends the process, and not before it is made",
    async (name) => {
      const { child, finished } = startWork(moment);
      await once(child.stdout!, "data");
      child.kill(name);
      const { stdout, signal } = await finished;
      expect(stdout).toMatch(/^begun done (and on )?$/);
      expect(signal).toBe(name);
    },
  );

  it("is not lost if it comes in the very moment in which the file is made", async () => {
    const { finished } = startWork(`
      const { readFile } = await import("node:fs");
      await new Promise((resolve) => readFile("/dev/null", () => {
        process.kill(process.pid, "SIGINT");
        resolve();
      }));`);
    expect(await finished).toMatchObject({ signal: "SIGINT" });
  });

  it("ends it also if the disk hangs", async () => {
    const { child, finished } = startWork("await new Promise(() => undefined);");
    await once(child.stdout!, "data");
    child.kill("SIGINT");
    expect(await finished).toMatchObject({ stdout: "begun ", signal: "SIGINT" });
  });

  it("is left to other listeners", async () => {
    const { child, finished } = startWork(moment, `process.on("SIGINT", () => process.exit(7));`);
    await once(child.stdout!, "data");
    child.kill("SIGINT");
    expect(await finished).toMatchObject({ stdout: "begun ", exitCode: 7 });
  });

  it("ends it at once if none is", async () => {
    const { child, finished } = startWork("");
    while (!String((await once(child.stdout!, "data"))[0]).includes("and on"));
    child.kill("SIGINT");
    expect((await finished).signal).toBe("SIGINT");
  });
});

it("a folder that cannot be made leaves none of those above it, but for what was there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-folders-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const tooLong = join(folder, "a", "b", "x".repeat(300));
  await expect(makeFolder(tooLong)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  expect(readdirSync(folder)).toEqual([]);
  expect(await makeFolder(join(folder, "a", "b"))).toEqual([join(folder, "a"), join(folder, "a", "b")]);
  await expect(makeFolder(tooLong)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  expect(readdirSync(join(folder, "a"))).toEqual(["b"]);
});

it("folders that are made have the mode that is asked for, those above as well", () => {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-folders-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const made = makeFolderSync(join(folder, "a", "b"), 0o700);
  expect(made.map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
  expect(makeFolderSync(join(folder, "a"), 0o700)).toEqual([]);
});

it("what a killed process left while it wrote is removed 10 minutes later, and nothing else", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-strays-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const strays = ["a.json.0123abcd.tmp", "a.json.partial.0123abcd.tmp"];
  const others = ["a.json.partial", "a.json.tmp", "a.json.0123abcd.tmp.old", "ba.json.0123abcd.tmp"];
  for (const name of [...strays, ...others]) {
    writeFileSync(join(folder, name), "x");
    utimesSync(join(folder, name), new Date(), new Date(Date.now() - 660_000));
  }
  const young = "a.json.4567cdef.tmp";
  writeFileSync(join(folder, young), "x");
  await checkWritable(join(folder, "a.json"));
  expect(readdirSync(folder).sort()).toEqual([...others, young].sort());
});
