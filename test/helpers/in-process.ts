import { tmpdir } from "node:os";
import { vi } from "vitest";
import { main } from "../../src/cli/main.js";
import { cleanEnvironment, type Finished } from "./run-cli.js";

/**
 * The command line without a process of its own, which most of the time of a short command goes to: for what is about
 * its messages, its exit code and its files. What is about signals, streams, drivers and colours needs a process.
 */

const printed: string[] = [];

vi.mock("../../src/results/output-stream.js", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../src/results/output-stream.js")>();
  return {
    ...original,
    writeToStream: async (path: string, text: string) => {
      if (path === "/dev/stdout") printed.push(text);
      else await original.writeToStream(path, text);
    },
  };
});

/** As runCli() does, one call at a time. */
export async function callCli(
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Finished> {
  const before = { cwd: process.cwd(), env: process.env, argv: process.argv, exitCode: process.exitCode };
  const streams = [process.stdout, process.stderr] as const;
  const listeners = streams.map((stream) => stream.listeners("error"));
  const errors: string[] = [];
  printed.length = 0;
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(collect(printed)),
    vi.spyOn(process.stderr, "write").mockImplementation(collect(errors)),
  ];
  // A command that can be interrupted no longer lets the channel to whoever started the process keep it running.
  const isRunning = setInterval(() => undefined, 1000);
  try {
    process.chdir(cwd);
    process.env = { ...cleanEnvironment(), ...env };
    process.argv = [...process.argv.slice(0, 2), ...args];
    await main([...args]);
    const exitCode = Number(process.exitCode ?? 0);
    return { exitCode, signal: null, stdout: printed.join(""), stderr: errors.join("") };
  } finally {
    process.channel?.ref();
    clearInterval(isRunning);
    for (const spy of spies) spy.mockRestore();
    for (const [i, stream] of streams.entries()) {
      const added = stream.listeners("error").filter((listener) => !listeners[i]!.includes(listener));
      for (const listener of added) stream.off("error", listener as () => void);
    }
    process.chdir(before.cwd);
    process.env = before.env;
    process.argv = before.argv;
    process.exitCode = before.exitCode;
  }
}

function collect(texts: string[]) {
  return (text: string | Uint8Array): boolean => {
    texts.push(String(text));
    return true;
  };
}
