import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { manifestName } from "../../src/fleet/fleet-manifest.js";
import { FleetLaunch } from "../../src/fleet/launch/fleet-launch.js";
import { claimNode, launchFolderName, writeNodeEnd } from "../../src/fleet/launch/launch-folder.js";
import type { LaunchPlan } from "../../src/fleet/launch/launch-plan.js";
import { LauncherProcesses } from "../../src/fleet/launch/launcher-processes.js";
import { Guard, signalGroup } from "../../src/host/processes.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { temporaryFolder } from "../helpers/run-cli.js";

test("a launcher that has ended with all its processes gets no signal, as its id may be reused", async () => {
  const [watch, forget] = [vi.spyOn(Guard.prototype, "watch"), vi.spyOn(Guard.prototype, "forget")];
  const launchers = new LauncherProcesses(temporaryFolder());
  launchers.start(["true"], null);
  await vi.waitUntil(() => launchers.haveEnded, { timeout: 10_000 });
  launchers.start(["sh", "-c", "sleep 1000 & exit 3"], null);
  // One of them still runs.
  expect(launchers.haveEnded).toBe(false);
  await vi.waitUntil(() => launchers.haveEnded, { timeout: 10_000 });
  expect(launchers.all.map(({ exitCode }) => exitCode)).toEqual([0, 3]);
  const [[ended], [lasting]] = watch.mock.calls as [[number], [number]];
  // The guard, which ends what it watches if this process is killed, forgets it too.
  expect(forget.mock.calls).toEqual([[ended]]);
  const kill = vi.spyOn(process, "kill");
  await launchers.end();
  const asked = kill.mock.calls.filter(([, signal]) => signal === "SIGTERM").map(([pid]) => pid);
  vi.restoreAllMocks();
  expect(asked).toEqual([-lasting]);
  expect(() => process.kill(-lasting, 0)).toThrow("ESRCH");
});

test("a launcher that does not heed SIGTERM is killed", async () => {
  const watch = vi.spyOn(Guard.prototype, "watch");
  const launchers = new LauncherProcesses(temporaryFolder());
  launchers.start(["sh", "-c", "trap '' TERM; echo ready >&2; while :; do sleep 0.1; done"], null);
  const [[group]] = watch.mock.calls as [[number]];
  onTestFinished(() => {
    vi.restoreAllMocks();
    signalGroup(group, "SIGKILL");
  });
  const [launcher] = launchers.all;
  await vi.waitUntil(() => launcher!.stderr === "ready\n", { timeout: 10_000 });
  // The clock runs faster, so that the grace period ends soon.
  const beganMs = performance.now();
  let looks = 0;
  vi.spyOn(performance, "now").mockImplementation(() => beganMs + 1000 * looks++);
  await launchers.end();
  await vi.waitUntil(() => launchers.haveEnded, { timeout: 10_000 });
});

/** A fleet run with these launchers and a deadline of a minute. */
function launchOf(
  launches: { argv: string[]; nodes: string[] }[],
  plan: Partial<LaunchPlan> = {},
  nodeDeadlineNs = 3600e9,
) {
  const folder = temporaryFolder();
  const settings = fillRunSettings({ origin: "flag", values: {} });
  const launch = new FleetLaunch({
    folder,
    plan: {
      ...{ launches, hosts: launches.flatMap(({ nodes }) => nodes) },
      ...{ count: launches.length, cancel: async () => undefined },
      ...plan,
    },
    order: { schemaVersion: 1, settings, labels: {}, nodeDeadlineNs },
    untilMs: performance.now() + 60_000,
  });
  return { folder, launch };
}

const listIn = (folder: string) => JSON.parse(readFileSync(join(folder, manifestName), "utf8"));

test("a fleet run reports its elapsed time and its limit, and cancels its jobs when it is interrupted", async () => {
  const cancel = vi.fn();
  const { folder, launch } = launchOf([{ argv: ["sleep", "1000"], nodes: ["n1"] }], { cancel });
  const controller = new AbortController();
  const elapsed: number[] = [];
  for await (const { waitingFor, elapsedNs, limitNs } of launch.run(controller.signal)) {
    expect(waitingFor).toEqual(["n1"]);
    expect(limitNs / 1e9).toBeCloseTo(60, 1);
    elapsed.push(elapsedNs);
    if (launch.nodes()[0]!.state === "late") controller.abort();
    else await claimNode(join(folder, launchFolderName), "n1");
  }
  expect(elapsed.length).toBeGreaterThan(1);
  expect(elapsed).toEqual(elapsed.toSorted((a, b) => a - b));
  expect(elapsed[0]).toBeLessThan(60e9);
  expect(cancel).toHaveBeenCalledOnce();
});

test("a fleet run waits for all nodes, and lists what became of each", async () => {
  const cancel = vi.fn();
  const sleeping = ["n10", "n2", "n1"].map((host) => ({ argv: ["sleep", "1000"], nodes: [host] }));
  const { folder, launch } = launchOf(sleeping, { cancel });
  const reports = join(folder, launchFolderName);
  const controller = new AbortController();
  const progress: unknown[] = [];
  for await (const { done, nodes, waitingFor } of launch.run(controller.signal)) {
    progress.push([done, nodes, waitingFor]);
    if (progress.length > 1) {
      expect(listIn(folder)).toMatchObject({
        finishedAt: null,
        nodes: ["n1", "n2", "n10"].map((host) => ({ host, state: "running" })),
      });
      controller.abort();
      continue;
    }
    for (const host of ["n1", "n10"]) await claimNode(reports, host);
    await writeNodeEnd(reports, "n1", { state: "measured", reason: null, file: "n1.json", wallNs: 1 });
  }
  expect(progress).toEqual([
    [0, 3, ["n1", "n2", "n10"]],
    [1, 3, ["n2", "n10"]],
  ]);
  expect(cancel).toHaveBeenCalledOnce();
  const reason = "the fleet's run was interrupted";
  expect(listIn(folder)).toMatchObject({
    finishedAt: expect.any(String),
    nodes: [
      { host: "n1", state: "measured", reason: null, file: "n1.json" },
      { host: "n2", state: "missing", reason, file: null },
      { host: "n10", state: "missing", reason, file: null },
    ],
  });
});

test("a fleet run ends when all launchers have ended, and cancels nothing then", async () => {
  const cancel = vi.fn();
  const { folder, launch } = launchOf(
    [0, 5].map((exitCode) => ({ argv: ["sh", "-c", `exit ${exitCode}`], nodes: [`n${exitCode}`] })),
    { cancel },
  );
  for await (const _ of launch.run(new AbortController().signal));
  expect(listIn(folder)).toMatchObject({
    nodes: [
      { state: "missing", reason: "it did not start to measure" },
      { state: "missing", reason: "it did not start to measure (its launcher ended with exit code 5)" },
    ],
  });
  expect(cancel).not.toHaveBeenCalled();
});

test("a node that did not start is listed with its launcher's last messages, or with its exit", async () => {
  const scripts = {
    a: "for word in first second third; do echo $word >&2; done; echo 'srun: Job step aborted' >&2; exit 1",
    b: "exit 5",
    c: "kill -9 $$",
    d: "head -c 5000 /dev/zero | tr '\\0' x >&2; echo >&2; echo last >&2; echo end >&2; exit 1",
    e: "exit 0",
    f: "head -c 500 /dev/zero | tr '\\0' x >&2; exit 1",
  };
  const launches = Object.entries(scripts).map(([node, script]) => ({
    argv: ["sh", "-c", script],
    nodes: [node],
  }));
  const { launch } = launchOf([...launches, { argv: ["/no/such/program"], nodes: ["g"] }]);
  for await (const _ of launch.run(new AbortController().signal));
  const words = launch.nodes().map(({ reason }) => reason!.replace("it did not start to measure", ""));
  expect(words.map((text) => text.replace(/x{10,}/, "x"))).toEqual([
    ...[" (second; third)", " (its launcher ended with exit code 5)", " (its launcher was killed)"],
    ...[" (last; end)", "", " (x)", " (there is no program /no/such/program)"],
  ]);
  expect(words[5]).toHaveLength(300 + " ()".length);
});
