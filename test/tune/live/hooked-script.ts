import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { readMessage } from "../../../src/tune/live/live-messages.js";
import { type LimitedRun, runLimited } from "../../helpers/limited-process.js";
import { warmPython } from "../../helpers/test-python.js";

export const hookFolder = fileURLToPath(new URL("../../../src/tune/python/", import.meta.url));
const fixtures = fileURLToPath(new URL("../../fixtures/tune/live/", import.meta.url));

/** What the hook says, as docs of the protocol in src/tune/live have it. */
export type Said = { type: string; loader?: number } & Record<string, unknown>;

export interface AskedSetting {
  numWorkers: number;
  pinMemory: boolean;
  prefetchFactor: number | null;
  persistentWorkers: boolean;
  nonBlocking: false;
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
  nonBlocking: false,
});

export interface ScriptRun extends LimitedRun {
  /** Files that it has left in its folder for temporary ones. */
  left: string[];
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
    return { ...run, left: readdirSync(TMPDIR).map((file) => file.replace(/-.*/, "-*")), said: [] };
  } finally {
    rmSync(TMPDIR, { recursive: true, force: true });
  }
}

/**
 * Runs it with the hook, and plays pinbench: makes the first loader of each process the one that is tuned, and asks for the
 * changes one after the other. Requires that pinbench would understand all that the hook says.
 */
export async function runHooked(
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
    const run = { ...(await runPlain(command, { env: hooked, python })), said: pinbench.said };
    expect(run.said.flat().filter((message) => readMessage(JSON.stringify(message)) === null)).toEqual([]);
    return run;
  } finally {
    pinbench.close();
  }
}

/** What pinbench does at its socket in each process: the first loader is tuned, and given one setting after the other. */
async function playPinbench(
  path: string,
  changes: readonly Change[],
): Promise<{ said: Said[][]; close: () => void }> {
  const said: Said[][] = [];
  const server = createServer((socket) => said.push(converse(socket, changes)));
  server.listen(path);
  await once(server, "listening");
  return { said, close: () => server.close() };
}

function converse(socket: Socket, changes: readonly Change[]): Said[] {
  const heard: Said[] = [];
  const send = (command: object) => socket.write(`${JSON.stringify(command)}\n`);
  let asked = 0;
  socket.on("error", () => undefined);
  const lines = createInterface(socket);
  lines.on("error", () => undefined);
  lines.on("line", (line) => {
    const message = JSON.parse(line) as Said;
    heard.push(message);
    if (message.type === "loader" && message.loader === 1) send({ type: "target", loader: 1 });
    const isReady = ["loader", "changed", "failed"].includes(message.type);
    const next = changes[asked];
    if (message.loader !== 1 || !isReady || next === undefined) return;
    const [atBatch, setting] = next;
    send({ type: "change", loader: 1, change: ++asked, atBatch, setting });
  });
  return heard;
}
