import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  appendRuns,
  checkChangeable,
  createRuns,
  listBegunRuns,
  listRuns,
  replaceRuns,
} from "../../src/results/files/run-folder.js";
import * as store from "../../src/results/files/store.js";
import { folderOf } from "../helpers/config.js";
import { temporaryFolder } from "../helpers/run-cli.js";

vi.mock("../../src/results/files/store.js", { spy: true });
afterEach(() => {
  vi.resetAllMocks();
});

/** Replaces the function that writes runs and their list. */
function writeBy(write: typeof store.finalizeNamed): void {
  vi.mocked(store.finalize).mockImplementation(write);
  vi.mocked(store.finalizeNamed).mockImplementation(write);
}

/** The texts of a folder's runs, as a reader finds them. */
const textsIn = async (folder: string) =>
  (await listRuns(folder)).map((path) => readFileSync(path, "utf8")).sort();
/** The texts of the runs that a folder began with. */
const begunIn = async (folder: string) =>
  (await listBegunRuns(folder))?.map((path) => readFileSync(path, "utf8"));
const namesIn = async (folder: string) => (await listRuns(folder)).map((path) => basename(path));
/** Replaces all runs of a folder, as they are read. */
const replaceAll = async (folder: string, texts: readonly string[]) =>
  replaceRuns(folder, await listRuns(folder), texts);
const newFolder = () => join(temporaryFolder(), "sub/baseline");

describe("a folder of runs, such as a baseline,", () => {
  it("is created with a list of its runs, in their order", async () => {
    const folder = newFolder();
    await createRuns(folder, ["one", "two", "three"]);
    expect((await listRuns(folder)).map((path) => readFileSync(path, "utf8"))).toEqual([
      "one",
      "two",
      "three",
    ]);
    const list = JSON.parse(readFileSync(join(folder, "baseline.json"), "utf8"));
    expect(list).toEqual({ schemaVersion: 1, kind: "baseline", runs: await namesIn(folder) });
    expect(readdirSync(folder).sort()).toEqual(["baseline.json", ...list.runs].sort());
  });

  it("has new runs in place of the old ones, and keeps files that are not on its list", async () => {
    const folder = newFolder();
    await createRuns(folder, ["one", "two"]);
    writeFileSync(join(folder, "stray.json"), "stray");
    await replaceAll(folder, ["three"]);
    expect(await textsIn(folder)).toEqual(["three"]);
    expect(readFileSync(join(folder, "stray.json"), "utf8")).toBe("stray");
  });

  it("keeps its first runs as files, however often its list is replaced", async () => {
    const folder = newFolder();
    await createRuns(folder, ["one"]);
    await appendRuns(folder, ["two"]);
    expect(await listBegunRuns(folder)).toBeNull();
    await replaceAll(folder, ["three"]);
    await appendRuns(folder, ["four"]);
    await replaceAll(folder, ["five"]);
    await appendRuns(folder, ["six"]);
    expect(await textsIn(folder)).toEqual(["five", "six"]);
    expect(await begunIn(folder)).toEqual(["one", "two"]);
    const files = ["baseline.json", ...(await namesIn(folder)), ...(await listBegunRuns(folder))!];
    expect(readdirSync(folder).sort()).toEqual(files.map((path) => basename(path)).sort());
  });

  it("has new runs in place of those that were read, and keeps files added meanwhile", async () => {
    const folder = folderOf({ "a.json": "one", "b.json": "two" });
    const read = await listRuns(folder);
    writeFileSync(join(folder, "c.json"), "come meanwhile");
    await replaceRuns(folder, read, ["three"]);
    expect(await textsIn(folder)).toEqual(["three"]);
    expect(await begunIn(folder)).toEqual(["one", "two"]);
    expect(readFileSync(join(folder, "c.json"), "utf8")).toBe("come meanwhile");
  });

  it("holds the runs of exactly one check if three replace it at the same time", async () => {
    const folder = newFolder();
    await createRuns(folder, ["old", "older"]);
    const read = await listRuns(folder);
    const checks = ["one", "two", "three"].map((name) => [`${name} 1`, `${name} 2`]);
    const replaced = await Promise.all(checks.map((texts) => replaceRuns(folder, read, texts)));
    expect(replaced).toEqual([2, 2, 2]);
    expect(checks).toContainEqual(await textsIn(folder));
    expect(await begunIn(folder)).toEqual(["old", "older"]);
    expect(readdirSync(folder)).toHaveLength(5);
  });

  it("is created by one of two simultaneous writers; the other fails and leaves no file", async () => {
    const folder = newFolder();
    const made = await Promise.allSettled(["one", "two"].map((text) => createRuns(folder, [text])));
    const failed = made.filter(({ status }) => status === "rejected");
    expect(failed).toMatchObject([{ reason: { message: `${folder} already exists and is not empty.` } }]);
    expect(readdirSync(folder).sort()).toEqual(["baseline.json", ...(await namesIn(folder))].sort());
  });

  it("has all runs that several writers append at the same time", async () => {
    const folder = newFolder();
    await createRuns(folder, ["old"]);
    await Promise.all(["one", "two", "three"].map((text) => appendRuns(folder, [text])));
    expect(await textsIn(folder)).toEqual(["old", "one", "three", "two"]);
    expect(readdirSync(folder)).toHaveLength(5);
  });

  it("without a list is read as all of its JSON files", async () => {
    const folder = folderOf({ "b.json": "two", "a.json": "one", ".hidden.json": "", "notes.txt": "" });
    symlinkSync("b.json", join(folder, "c.json"));
    expect(await namesIn(folder)).toEqual(["a.json", "b.json", "c.json"]);
    await replaceAll(folder, ["three"]);
    expect(await textsIn(folder)).toEqual(["three"]);
    expect(await begunIn(folder)).toEqual(["one", "two", "two"]);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining([".hidden.json", "notes.txt"]));
  });

  it("has appended runs after its old ones, and keeps files that are not on its list", async () => {
    const folder = newFolder();
    await createRuns(folder, ["two"]);
    writeFileSync(join(folder, "stray.json"), "stray");
    await appendRuns(folder, ["one", "three"]);
    const inOrder = (await listRuns(folder)).map((path) => readFileSync(path, "utf8"));
    expect(inOrder).toEqual(["two", "one", "three"]);
    expect(readFileSync(join(folder, "stray.json"), "utf8")).toBe("stray");
  });

  it("without a list gets one when runs are appended", async () => {
    const folder = folderOf({ "a.json": "one" });
    await appendRuns(folder, ["two"]);
    expect(await textsIn(folder)).toEqual(["one", "two"]);
    expect(readdirSync(folder)).toContain("baseline.json");
  });

  it.each([
    ["is not JSON", "{"],
    ["names none", '{"schemaVersion": 1, "kind": "baseline", "runs": []}'],
    ["is of another version", '{"schemaVersion": 2, "kind": "baseline", "runs": ["a.json"]}'],
    ["leads out of the folder", '{"schemaVersion": 1, "kind": "baseline", "runs": ["../a.json"]}'],
    ["names a run twice", '{"schemaVersion": 1, "kind": "baseline", "runs": ["a.json", "a.json"]}'],
    ["names what is no result", '{"schemaVersion": 1, "kind": "baseline", "runs": ["notes.txt"]}'],
  ])("whose list %s is refused", async (_, list) => {
    const folder = folderOf({ "baseline.json": list, "a.json": "one" });
    const refusal = { kind: "usage", message: `${folder}/baseline.json is no list of a baseline's runs.` };
    await expect(listRuns(folder)).rejects.toMatchObject(refusal);
  });
});

describe("while the runs of a baseline are written,", () => {
  const madeByHand = () => folderOf({ "a.json": "one", "b.json": "two" });
  const createdFolder = async () => {
    const folder = newFolder();
    await createRuns(folder, ["one", "two"]);
    return folder;
  };

  /** Fails when the nth file is written, as on a full disk. */
  function failAt(nth: number): void {
    let written = 0;
    writeBy(async (path, text) => {
      if (++written === nth) throw new Error("the disk is full");
      writeFileSync(path, String(text));
    });
  }

  it.each([
    ["replaced, with a list", replaceAll, createdFolder, 3],
    ["replaced, without a list", replaceAll, madeByHand, 4],
    ["added to", appendRuns, madeByHand, 4],
  ] as const)("a failure leaves the old runs as they were if they are %s", async (_, change, make, files) => {
    for (let nth = 1; nth <= files; ++nth) {
      const folder = await make();
      const before = readdirSync(folder);
      failAt(nth);
      await expect(change(folder, ["three", "four"])).rejects.toThrow("the disk is full");
      vi.mocked(store.finalize).mockReset();
      vi.mocked(store.finalizeNamed).mockReset();
      expect(await textsIn(folder)).toEqual(["one", "two"]);
      if (make === createdFolder) expect(readdirSync(folder)).toEqual(before);
    }
  });

  it.each([
    ["replaced", replaceAll, ["four", "three"]],
    ["added to", appendRuns, ["four", "one", "three", "two"]],
  ] as const)("readers see all of the new runs or none if the old ones are %s", async (_, change, all) => {
    const folder = madeByHand();
    const seen: string[][] = [];
    writeBy(async (path, text) => {
      writeFileSync(path, String(text));
      seen.push(await textsIn(folder));
    });
    await change(folder, ["three", "four"]);
    expect(seen).toEqual([...Array(3).fill(["one", "two"]), all]);
  });
});

describe("before anything is measured, it is known whether a baseline can be changed:", () => {
  it("a folder can", async () => {
    const folder = folderOf({ "a.json": "one" });
    await checkChangeable(folder);
    expect(readdirSync(folder)).toEqual(["a.json"]);
  });

  it("one result cannot, as it is no folder", async () => {
    const file = join(folderOf({ "a.json": "one" }), "a.json");
    await expect(checkChangeable(file)).rejects.toMatchObject({
      kind: "output",
      message: `${file} is one result, and a baseline that takes new runs is a folder of several.`,
    });
  });

  it("a folder with a list that cannot be written cannot", async () => {
    const folder = folderOf({ "baseline.json/a": "" });
    await expect(checkChangeable(folder)).rejects.toMatchObject({ kind: "output" });
    await expect(checkChangeable("/proc/self")).rejects.toMatchObject({ kind: "output" });
  });
});
