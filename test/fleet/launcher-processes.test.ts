import { expect, test, vi } from "vitest";
import { LauncherProcesses } from "../../src/fleet/launcher-processes.js";
import { temporaryFolder } from "../helpers/run-cli.js";

test("what has ended with all that it started is signalled no more: its number may be another's by then", async () => {
  const launchers = new LauncherProcesses(temporaryFolder());
  launchers.start(["true"], null);
  launchers.start(["sh", "-c", "sleep 1000 & exit 3"], null);
  await vi.waitUntil(() => launchers.haveEnded, { timeout: 10_000 });
  expect(launchers.all.map(({ exitCode }) => exitCode)).toEqual([0, 3]);
  const kill = vi.spyOn(process, "kill");
  await launchers.end();
  const asked = kill.mock.calls.filter(([, signal]) => signal === "SIGTERM").map(([pid]) => pid);
  kill.mockRestore();
  expect(asked).toHaveLength(1);
  expect(() => process.kill(asked[0]!, 0)).toThrow("ESRCH");
});
