import { expect, test, vi } from "vitest";
import { LauncherProcesses } from "../../src/fleet/launch/launcher-processes.js";
import { Guard } from "../../src/host/processes.js";
import { temporaryFolder } from "../helpers/run-cli.js";

test("what has ended with all that it started is signalled no more: its number may be another's by then", async () => {
  const [watch, forget] = [vi.spyOn(Guard.prototype, "watch"), vi.spyOn(Guard.prototype, "forget")];
  const launchers = new LauncherProcesses(temporaryFolder());
  launchers.start(["true"], null);
  launchers.start(["sh", "-c", "sleep 1000 & exit 3"], null);
  await vi.waitUntil(() => launchers.haveEnded, { timeout: 10_000 });
  expect(launchers.all.map(({ exitCode }) => exitCode)).toEqual([0, 3]);
  const [[ended], [lasting]] = watch.mock.calls as [[number], [number]];
  // Nor by the guard, which signals what it watches where this process is killed.
  expect(forget.mock.calls).toEqual([[ended]]);
  const kill = vi.spyOn(process, "kill");
  await launchers.end();
  const asked = kill.mock.calls.filter(([, signal]) => signal === "SIGTERM").map(([pid]) => pid);
  vi.restoreAllMocks();
  expect(asked).toEqual([-lasting]);
  expect(() => process.kill(-lasting, 0)).toThrow("ESRCH");
});
