import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { vi } from "vitest";
import { packageVersion } from "../../src/package-facts.js";
import { callCli } from "../helpers/in-process.js";
import { files } from "./command-files.js";

/* Calls command lines that measure nothing on the files of command-files.ts, and returns all that they leave as a text. */

const folder = realpathSync(mkdtempSync(join(tmpdir(), "pinbench-outputs-")));
const measured = new Date("2026-03-04T05:06:07Z");

function contents(): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.sort().map((path) => [path, readFileSync(path, "utf8")]));
}

function writeFiles(): void {
  rmSync(folder, { recursive: true, force: true });
  for (const [name, content] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    utimesSync(path, measured, measured);
  }
}

/** Without what differs from call to call and between versions, and without a page's scripts and styles. */
export const plain = (text: string) =>
  text
    .replaceAll(folder, "FOLDER")
    .replaceAll(packageVersion(), "VERSION")
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "UUID")
    .replaceAll(/(<style>|<script type="module">)[\s\S]*?(?=<\/)/g, "$1")
    .replaceAll(/'sha256-[^']*'/g, "'sha256'");

const titled = (title: string, text: string | undefined) =>
  text === "" ? "" : `---- ${title}\n${text === undefined ? "(gone)" : plain(text)}\n`;

/** What all files held, and whether a call has changed them since. */
let before: ReadonlyMap<string, string> | null = null;

/**
 * Calls a command line, which finds the files as they were written and the same time as any other. A line may begin with
 * variables and, as in/FOLDER, with the folder to call it in.
 */
export async function outputOf(line: string): Promise<string> {
  if (before === null) {
    writeFiles();
    before = contents();
  }
  const words = line.split(" ");
  const start = words.findIndex((word) => !/^(in\/|[A-Z_]+=)/.test(word));
  const place = words.slice(0, start).find((word) => word.startsWith("in/")) ?? "in/";
  const variables = words.slice(0, start).filter((word) => word.includes("="));
  vi.useFakeTimers({ now: new Date("2026-11-27T12:00:00Z"), toFake: ["Date"] });
  const { exitCode, stdout, stderr } = await callCli(words.slice(start), {
    cwd: join(folder, place.slice("in/".length)),
    env: Object.fromEntries(variables.map((word) => word.split("="))),
  }).finally(() => vi.useRealTimers());
  const now = contents();
  const paths = [...new Set([...before.keys(), ...now.keys()])].sort();
  const changed = paths.filter((path) => before?.get(path) !== now.get(path));
  const written = changed.map((path) => titled(plain(path), now.get(path)));
  if (changed.length > 0) before = null;
  return `exit code ${exitCode}\n${titled("stdout", stdout)}${titled("stderr", stderr)}${written.join("")}`;
}

/** Removes the files. */
export function endCalls(): void {
  rmSync(folder, { recursive: true, force: true });
}
