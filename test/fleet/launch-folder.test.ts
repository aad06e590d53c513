import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  claimNode,
  createLaunchFolder,
  isOrderGone,
  NodeReports,
  readOrder,
  removeLaunchFolder,
  writeNodeEnd,
} from "../../src/fleet/launch/launch-folder.js";
import { measureAsNode, nodeName } from "../../src/fleet/launch/node-process.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { temporaryFolder } from "../helpers/run-cli.js";

/** The error code of each link() while it is set. */
const linking = vi.hoisted(() => ({ fails: null as string | null }));
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const link: typeof real.link = async (...paths) => {
    if (linking.fails !== null) throw Object.assign(new Error("no"), { code: linking.fails });
    await real.link(...paths);
  };
  return { ...real, link };
});
afterEach(() => {
  linking.fails = null;
});

const order = {
  schemaVersion: 1 as const,
  settings: fillRunSettings({ origin: "flag", given: { preset: "fleet" } }),
  labels: { rack: "7" },
  nodeDeadlineNs: 60e9,
};
const start = (host: string, bootId: string | null = "boot-a") => ({ host, bootId, slurm: null });

async function launchFolder(): Promise<string> {
  const folder = join(temporaryFolder(), ".fleet-run");
  await createLaunchFolder(folder, order);
  return folder;
}

describe("the folder of a launch", () => {
  test("has the order as it was given, until nobody waits any more", async () => {
    const folder = await launchFolder();
    expect(await readOrder(folder)).toEqual(order);
    expect(await isOrderGone(folder)).toBe(false);
    // That a folder cannot be read is no such end.
    expect(await isOrderGone(join(folder, "order.json"))).toBe(false);
    await removeLaunchFolder(folder);
    expect(await isOrderGone(folder)).toBe(true);
    await expect(readOrder(folder)).rejects.toThrow("which lists what this node is to measure");
  });

  test("tells what nodes have told, under the names that they are called by", async () => {
    const folder = await launchFolder();
    const name = await claimNode(folder, start("n01"));
    const end = { state: "measured" as const, reason: null, file: "n01.json", wallNs: 1 };
    await writeNodeEnd(folder, name!, end);
    const reports = new NodeReports(folder);
    await reports.refresh();
    expect(reports.started.get("n01")).toMatchObject(start("n01"));
    expect(reports.ended.get("n01")).toEqual(end);
    expect(readdirSync(folder).sort()).toEqual(["n01.ended", "n01.started", "order.json"]);
    // A node has begun when that was seen first.
    const { seenMs } = reports.started.get("n01")!;
    vi.spyOn(performance, "now").mockReturnValueOnce(seenMs + 1000);
    await reports.refresh();
    vi.restoreAllMocks();
    expect(reports.started.get("n01")!.seenMs).toBe(seenMs);
  });

  test("gives one name to one process of a node, and another one to another node", async () => {
    const folder = await launchFolder();
    const claims = [start("pod"), start("pod"), start("pod", "boot-b"), start("pod", "boot-b")];
    const names = [];
    for (const one of claims) names.push(await claimNode(folder, one));
    expect(names).toEqual(["pod", null, "pod-2", null]);
    const reports = new NodeReports(folder);
    await reports.refresh();
    expect([...reports.started.values()].map(({ host }) => host).sort()).toEqual(["pod", "pod-2"]);
    // Without a boot id, the second process may be on the same node, and would disturb the first.
    for (const bootId of [null, "boot-a"])
      expect(await claimNode(folder, start("n01", bootId))).toBe(bootId === null ? "n01" : null);
  });

  test("tells why a node failed, and what to do", async () => {
    const folder = await launchFolder();
    const entry = join(temporaryFolder(), "killed.js");
    writeFileSync(entry, 'process.kill(process.pid, "SIGKILL")');
    const { signal } = new AbortController();
    const slurm = { SLURM_JOB_ID: "7", SLURM_STEP_ID: "0", SLURM_STEP_NODELIST: "n[01-02]" };
    const env = { PINBENCH_NODE_NAME: "n01", SLURM_JOB_NODELIST: "n[01-09]", ...slurm };
    await measureAsNode(folder, { entry, render: JSON.stringify, signal, env });
    const reports = new NodeReports(folder);
    await reports.refresh();
    expect(reports.ended.get("n01")).toMatchObject({
      state: "failed",
      reason: expect.stringMatching(
        /^A measuring process was killed \(SIGKILL\)\. .*ask for smaller sizes\.$/,
      ),
      file: null,
      // Of a process, in nanoseconds.
      wallNs: expect.toSatisfy((ns: number) => ns > 1e6),
    });
    expect(reports.started.get("n01")!.slurm).toEqual({ jobId: "7", stepId: "0", nodes: "n[01-02]" });
  });

  test("does so if the file system has no hard links, and says what it cannot write", async () => {
    const folder = await launchFolder();
    linking.fails = "EPERM";
    const names = [];
    for (const boot of ["boot-a", "boot-a", "boot-b"])
      names.push(await claimNode(folder, start("pod", boot)));
    expect(names).toEqual(["pod", null, "pod-2"]);
    expect(readdirSync(folder).sort()).toEqual(["order.json", "pod-2.started", "pod.started"]);
    linking.fails = "EACCES";
    const message = `cannot write ${join(folder, "n01.started")}: permission denied.`;
    await expect(claimNode(folder, start("n01"))).rejects.toMatchObject({ kind: "output", message });
  });

  test("is of one run, though two were given it at the same time", async () => {
    const folder = join(temporaryFolder(), ".fleet-run");
    const made = await Promise.allSettled([
      createLaunchFolder(folder, order),
      createLaunchFolder(folder, order),
    ]);
    expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const { reason } = made.find(({ status }) => status === "rejected") as PromiseRejectedResult;
    expect(reason).toMatchObject({
      kind: "output",
      message: expect.stringContaining("another fleet run uses"),
    });
  });

  test("is left by no name, and has the list's own name for no node", async () => {
    const folder = await launchFolder();
    const hosts = ["../../etc/passwd", ".hidden", "a b\n$(rm)", "fleet-run"];
    const names = [];
    for (const host of hosts) names.push(await claimNode(folder, start(host)));
    expect(names).toEqual(["_._.._etc_passwd", "_hidden", "a_b___rm_", "fleet-run_"]);
    expect(await claimNode(await launchFolder(), start("n".repeat(300)))).toBe("n".repeat(200));
    const reports = new NodeReports(folder);
    await reports.refresh();
    expect([...reports.started.values()].map(({ host }) => host).sort()).toEqual([...hosts].sort());
  });
});

test("a node is called as the user says, or as Slurm does, or else as the machine is", () => {
  expect(nodeName({ PINBENCH_NODE_NAME: "a", SLURMD_NODENAME: "b" })).toBe("a");
  for (const own of [{}, { PINBENCH_NODE_NAME: "" }])
    expect(nodeName({ ...own, SLURMD_NODENAME: "b" })).toBe("b");
  expect(nodeName({})).not.toBe("");
});
