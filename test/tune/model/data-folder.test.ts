import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listDataFolder } from "../../../src/tune/model/data-folder.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-data-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const add = (name: string, bytes: number) => writeFileSync(join(folder, name), Buffer.alloc(bytes));

describe("listDataFolder", () => {
  it("lists the regular files of all folders, sorted, with their sizes", async () => {
    mkdirSync(join(folder, "b/c"), { recursive: true });
    for (const [name, bytes] of [
      ["z", 100],
      ["b/c/y", 31],
      ["b/x", 0],
      ["a", 10],
    ] as const) {
      add(name, bytes);
    }
    const data = await listDataFolder(folder);
    expect(data).toEqual({
      path: folder,
      files: ["a", "b/c/y", "b/x", "z"].map((name) => join(folder, name)),
      totalBytes: 141,
      meanBytes: 35.25,
    });
  });

  it("adds up the sizes of many files", async () => {
    for (let file = 0; file < 130; ++file) add(String(file), file);
    expect(await listDataFolder(folder)).toMatchObject({ totalBytes: (129 * 130) / 2, meanBytes: 64.5 });
  });

  it("skips hidden files and folders, and links", async () => {
    mkdirSync(join(folder, ".git"));
    for (const name of [".git/a", ".hidden", "seen"]) add(name, 1);
    symlinkSync("/etc", join(folder, "folder-link"));
    symlinkSync("/etc/passwd", join(folder, "file-link"));
    expect((await listDataFolder(folder)).files).toEqual([join(folder, "seen")]);
  });

  it.each([
    ["a missing folder", () => join(folder, "none"), /^There is no folder .*none\.$/],
    ["a folder without files", () => folder, /^There is no file to read in /],
    [
      "a file",
      () => {
        add("file", 1);
        return join(folder, "file");
      },
      /file is not a folder\.$/,
    ],
    [
      "a folder of empty files",
      () => {
        add("file", 0);
        return folder;
      },
      /^All files in .* are empty\.$/,
    ],
  ])("refuses %s in a sentence", async (_, path, message) => {
    await expect(listDataFolder(path())).rejects.toMatchObject({
      kind: "usage",
      message: expect.stringMatching(message),
    });
  });

  it.skipIf(process.getuid?.() === 0)("refuses a folder that it may not read", async () => {
    mkdirSync(join(folder, "closed"));
    chmodSync(join(folder, "closed"), 0);
    await expect(listDataFolder(folder)).rejects.toMatchObject({
      kind: "usage",
      message: expect.stringMatching(/closed cannot be read: permission denied\.$/),
    });
  });
});
