import { expect, it, onTestFinished, vi } from "vitest";
import { runMeasuringCommand } from "../../src/cli/measuring-command.js";
import { ExitCode } from "../../src/errors.js";

/** Keeps this process running, as an interruptible command releases the channel to its parent. */
function keepRunning(): void {
  const isRunning = setInterval(() => undefined, 1000);
  onTestFinished(() => {
    process.channel?.ref();
    clearInterval(isRunning);
  });
}

/** What `measure` gets in a command that was started a minute ago, and what was printed. */
async function turnOf(
  flags: { waitNs?: number | "forever"; quiet?: boolean },
  limitNs?: number,
  activity = "",
) {
  keepRunning();
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const call = { startedAt: new Date(), startedMs: performance.now() - 60_000 };
  const measure = vi.fn(async ({ onActivity }: { onActivity: (text: string) => void }) => {
    onActivity(activity);
    return null;
  });
  const usual = { waitNs: null, quiet: true };
  const request = { destinations: { format: "table", files: [] }, turn: { ...usual, ...flags }, call };
  const code = await runMeasuringCommand(request as never, {
    ...{ kind: "pinning", name: "pin", notes: () => [], exitCode: () => ExitCode.ok },
    ...{ measure: measure as never, ...(limitNs !== undefined && { limitNs }) },
    prepare: async () => ({ backend: { facts: { emulated: true } }, devices: [] }) as never,
  });
  const lines = said.mock.calls.map(([text]) => String(text));
  said.mockRestore();
  // Nothing was measured.
  expect(code).toBe(ExitCode.interrupted);
  return {
    call,
    lines,
    turn: measure.mock.lastCall as unknown as [{ countedFromMs: number; startedMs: number }],
  };
}

it("a command's budget counts from its start if it does not wait for the device", async () => {
  const { call, turn } = await turnOf({});
  expect(turn[0]).toMatchObject({ startedMs: call.startedMs, countedFromMs: call.startedMs });
});

it.each([{ waitNs: "forever" as const }, { waitNs: 3600e9 }])(
  "a command's budget counts from the end of its wait for the device, with %j",
  async (flags) => {
    const beforeMs = performance.now();
    const { call, turn } = await turnOf(flags);
    expect(turn[0].startedMs).toBe(call.startedMs);
    expect(turn[0].countedFromMs).toBeGreaterThanOrEqual(beforeMs);
  },
);

it.each([
  [90e9, {}, /\[#{6}-{4}\] 60 s of 90 s; opening the device$/],
  [90e9, { waitNs: "forever" as const }, /\[-{10}\] 0 s of 90 s; opening the device$/],
  [undefined, {}, /60 s; opening the device$/],
])(
  "the progress line shows the time since start or wait, and a limit of %j ns, with %j",
  async (limitNs, flags, line) => {
    const { isTTY, columns } = process.stderr;
    Object.assign(process.stderr, { isTTY: true, columns: 100 });
    vi.stubEnv("TERM", "xterm");
    onTestFinished(() => {
      vi.unstubAllEnvs();
      Object.assign(process.stderr, { isTTY, columns });
    });
    const { lines } = await turnOf({ ...flags, quiet: false }, limitNs, "opening the device");
    expect(lines[0]).toMatch(line);
  },
);
