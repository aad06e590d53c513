import { expect, it, onTestFinished, vi } from "vitest";
import { runCommand } from "../../src/cli/commands/run-command.js";
import { runMeasuringCommand } from "../../src/cli/measuring-command.js";
import { ExitCode } from "../../src/errors.js";
import { commandSettings } from "../../src/settings/command-settings.js";
import { defaultsOf } from "../../src/settings/settings.js";

vi.mock("../../src/measure/prepare.js", async (original) => {
  const ended = (how: string) => () => Promise.reject(new Error(how));
  return { ...(await original<object>()), prepareRun: ended("not timed"), prepareTimedRun: ended("timed") };
});

/** A command that can be interrupted no longer lets the channel to the process's starter keep it running. */
function keepRunning(): void {
  const isRunning = setInterval(() => undefined, 1000);
  onTestFinished(() => {
    process.channel?.ref();
    clearInterval(isRunning);
  });
}

/** What a command is given that was started a minute ago, and begins to measure now. */
async function turnOf(flags: { wait?: boolean; waitAtMostNs?: number }) {
  keepRunning();
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const call = { startedAt: new Date(), startedMs: performance.now() - 60_000 };
  const measure = vi.fn(async () => null);
  const usual = { wait: false, waitAtMostNs: null, quiet: true, progress: false, color: false, ascii: true };
  const request = { destinations: { format: "table", files: [] }, turn: { ...usual, ...flags }, call };
  const code = await runMeasuringCommand(request as never, {
    ...{ kind: "pinning", name: "pin", notes: () => [], measure, exitCode: () => ExitCode.ok },
    prepare: async () => ({ backend: { facts: { emulated: true } }, devices: [] }) as never,
  });
  said.mockRestore();
  // Nothing was measured.
  expect(code).toBe(ExitCode.interrupted);
  return { call, turn: measure.mock.lastCall as unknown as [{ countedFromMs: number; startedMs: number }] };
}

it("a budget counts from the start of the program", async () => {
  const { call, turn } = await turnOf({});
  expect(turn[0]).toMatchObject({ startedMs: call.startedMs, countedFromMs: call.startedMs });
});

it.each([{ wait: true }, { waitAtMostNs: 3600e9 }])(
  "a budget counts from the turn of a program that waits for it, as with %j",
  async (flags) => {
    const beforeMs = performance.now();
    const { call, turn } = await turnOf(flags);
    expect(turn[0].startedMs).toBe(call.startedMs);
    expect(turn[0].countedFromMs).toBeGreaterThanOrEqual(beforeMs);
  },
);

it.each([
  [null, /^not timed$/],
  [2e9, /^timed$/],
])("a run with a budget of %s is %s by the memory's speed before it begins", async (budgetNs, message) => {
  keepRunning();
  const flags = { ...defaultsOf(commandSettings.run), config: false as const, quiet: true, budgetNs };
  const call = { startedAt: new Date(), startedMs: performance.now(), argv: [] };
  const given = budgetNs === null ? [] : ["budgetNs"];
  await expect(runCommand(flags, { operands: [], given, call })).rejects.toThrow(message);
});
