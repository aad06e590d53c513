import { expect, it, vi } from "vitest";
import { isRunning } from "./processes.js";
import { type Started, start } from "./run-cli.js";

const untilGone = ({ child }: Started) =>
  vi.waitFor(() => expect(isRunning(child.pid!)).toBe(false), { timeout: 2000 });

it("a command that prints without end is killed, and the failure shows the end of its output", async () => {
  const started = start("yes", ["this goes on"]);
  await expect(started.finished).rejects.toThrow(
    /^yes this goes on\nprinted more than \d+ MB, and was killed\. It had printed:\n[\s\S]*this goes on\nthis goes on\n/,
  );
  await untilGone(started);
});

it("a command that does not end is killed before its test times out", { timeout: 6000 }, async () => {
  const started = start("sh", ["-c", "echo begun; echo doubt >&2; exec sleep 1000"]);
  await expect(started.finished).rejects.toThrow(/\nran for 3 s, and was killed\.[\s\S]*\nbegun\n\ndoubt\n$/);
  await untilGone(started);
});
