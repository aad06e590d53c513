import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { readMessage } from "../../../src/tune/live/live-messages.js";
import { type LimitedRun, runLimited } from "../../helpers/limited-process.js";
import { warmPython } from "../../helpers/test-python.js";

const hookFolder = fileURLToPath(new URL("../../../src/tune/live/hook/", import.meta.url));
const fixtures = fileURLToPath(new URL("../../fixtures/tune/live/", import.meta.url));

/** What the hook says, as docs of the protocol in src/tune/live have it. */
export type Said = { type: string; loader?: number } & Record<string, unknown>;

export interface AskedSetting {
  numWorkers: number;
  pinMemory: boolean;
  prefetchFactor: number | null;
  persistentWorkers: boolean;
}

/** A setting that is to be in force once this many batches were delivered in total. */
export type Change = readonly [atBatch: number, setting: AskedSetting];

export const withWorkers = (
  numWorkers: number,
  prefetchFactor = 2,
  persistentWorkers = false,
): AskedSetting => ({
  numWorkers,
  pinMemory: false,
  prefetchFactor: numWorkers === 0 ? null : prefetchFactor,
  persistentWorkers: persistentWorkers && numWorkers > 0,
});

export interface ScriptRun extends LimitedRun {
  /** By connection, in the order of their first words. */
  said: Said[][];
}

/** How a command is run; `env` is added to this process' own. */
interface Start {
  env?: NodeJS.ProcessEnv;
  /** testPython where it counts that the interpreter is started anew. */
  python?: string;
}

/** Runs a Python command as it is, with a folder of its own for what Python and torch leave behind. */
export async function runPlain(command: readonly string[], start: Start = {}): Promise<ScriptRun> {
  const { env = {}, python = warmPython } = start;
  const TMPDIR = mkdtempSync(join(tmpdir(), "pinbench-script-"));
  try {
    const run = await runLimited(python, command, { cwd: fixtures, env: { ...process.env, TMPDIR, ...env } });
    return { ...run, said: [] };
  } finally {
    rmSync(TMPDIR, { recursive: true, force: true });
  }
}

/** As runConversing(); requires that pinbench would understand all that the hook says. */
export async function runHooked(
  command: readonly string[],
  changes: readonly Change[],
  start: Start = {},
): Promise<ScriptRun> {
  const run = await runConversing(command, changes, start);
  const misunderstood = run.said.flat().filter((message) => readMessage(JSON.stringify(message)) === null);
  expect(misunderstood).toEqual([]);
  return run;
}

/**
 * Runs it with the hook, and plays pinbench: makes the first loader of each process the one that is tuned, and asks for the
 * changes one after the other.
 */
export async function runConversing(
  command: readonly string[],
  changes: readonly Change[],
  { env = {}, python = warmPython }: Start = {},
): Promise<ScriptRun> {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-hook-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "socket");
  const pinbench = await playPinbench(path, changes);
  try {
    const hooked = { PINBENCH_TUNE_SOCKET: path, PYTHONPATH: hookFolder, ...env };
    return { ...(await runPlain(command, { env: hooked, python })), said: pinbench.said };
  } finally {
    pinbench.close();
  }
}

/**
 * What pinbench does at its socket in each process: `loader` is tuned, and given one setting after the other. `onAsked` is
 * called after each request. Where it `rests`, the search is over with the last change.
 */
export async function playPinbench(
  path: string,
  changes: readonly Change[],
  { loader = 1, onAsked = () => undefined, rests = false }: Partial<Manner> = {},
): Promise<{ said: Said[][]; close: () => void }> {
  const said: Said[][] = [];
  const server = createServer((socket) => said.push(converse(socket, changes, { loader, onAsked, rests })));
  server.listen(path);
  await once(server, "listening");
  return { said, close: () => server.close() };
}

interface Manner {
  loader: number;
  onAsked: () => void;
  rests: boolean;
}

function converse(socket: Socket, changes: readonly Change[], { loader, onAsked, rests }: Manner): Said[] {
  const heard: Said[] = [];
  const send = (command: object) => socket.write(`${JSON.stringify(command)}\n`);
  let asked = 0;
  socket.on("error", () => undefined);
  const lines = createInterface(socket);
  lines.on("error", () => undefined);
  lines.on("line", (line) => {
    const message = JSON.parse(line) as Said;
    heard.push(message);
    if (message.type === "loader" && message.loader === loader) send({ type: "target", loader });
    const isReady = ["loader", "changed", "failed"].includes(message.type);
    const next = changes[asked];
    if (message.loader !== loader || !isReady) return;
    if (next === undefined) {
      if (rests) send({ type: "rest" });
      return;
    }
    const [atBatch, setting] = next;
    send({ type: "change", loader, change: ++asked, atBatch, setting });
    onAsked();
  });
  return heard;
}

export const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
