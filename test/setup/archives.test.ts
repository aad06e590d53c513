import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { packTarball, writeHash } from "../../scripts/lib/archives.mjs";
import { start } from "../helpers/run-cli.js";

const texts = { "program.js": "run();\n", "text.md": "words\n", "deeper/more.txt": "more\n" };

/** A folder with the same files, as others have made it: in another order, at another time, under another umask. */
function folderOf({ reversed, umask, year }: { reversed: boolean; umask: number; year: number }): string {
  const above = mkdtempSync(join(tmpdir(), "pinbench-archives-"));
  onTestFinished(() => rmSync(above, { recursive: true, force: true }));
  const folder = join(above, "pinbench");
  mkdirSync(join(folder, "deeper"), { recursive: true, mode: 0o777 & ~umask });
  const entries = Object.entries(texts);
  for (const [name, text] of reversed ? entries.reverse() : entries) {
    const path = join(folder, name);
    writeFileSync(path, text);
    chmodSync(path, (name === "program.js" ? 0o777 : 0o666) & ~umask);
    utimesSync(path, new Date(year, 0), new Date(year, 0));
  }
  return above;
}

it("two archives of the same files are identical, and unpack with modes that anybody can read", async () => {
  const places = [
    folderOf({ reversed: false, umask: 0o022, year: 2020 }),
    folderOf({ reversed: true, umask: 0o077, year: 2024 }),
  ];
  for (const place of places)
    await packTarball(join(place, "pinbench"), join(place, "made.tar.xz"), { level: 0 });
  const [one, other] = places.map((place) => readFileSync(join(place, "made.tar.xz")));
  expect(one!.equals(other!)).toBe(true);

  const listed = await start("tar", ["--numeric-owner", "-tvf", join(places[1]!, "made.tar.xz")]).finished;
  const modes = listed.stdout
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/));
  expect(modes.map(([mode, owner, , , , name]) => [mode, owner, name])).toEqual([
    ["drwxr-xr-x", "0/0", "pinbench/"],
    ["drwxr-xr-x", "0/0", "pinbench/deeper/"],
    ["-rw-r--r--", "0/0", "pinbench/deeper/more.txt"],
    ["-rwxr-xr-x", "0/0", "pinbench/program.js"],
    ["-rw-r--r--", "0/0", "pinbench/text.md"],
  ]);
});

it("sha256sum accepts the hash written beside a file, and rejects it once the file has changed", async () => {
  const folder = folderOf({ reversed: false, umask: 0o022, year: 2020 });
  const file = join(folder, "pinbench/text.md");
  writeHash(file);
  const check = () =>
    start("sha256sum", ["--check", "text.md.sha256"], { cwd: join(folder, "pinbench") }).finished;
  expect(await check()).toMatchObject({ exitCode: 0, stdout: "text.md: OK\n" });
  writeFileSync(file, "other words\n");
  expect(await check()).toMatchObject({ exitCode: 1 });
});

it("a bundle with tests can be made only for this machine's processor", () => {
  const other = process.arch === "x64" ? "arm64" : "x64";
  const args = ["scripts/bundle.mjs", "--with-tests", "--arch", other];
  // Without a PATH nothing could be compiled.
  const { status, stderr } = spawnSync(process.execPath, args, { env: { PATH: "" }, encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toContain(`--with-tests needs programs that are compiled for ${process.arch} alone`);
});
