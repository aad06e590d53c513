import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
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

const order = {
  schemaVersion: 1 as const,
  settings: fillRunSettings({ origin: "flag", values: { preset: "fleet" } }),
  labels: { rack: "7" },
  nodeDeadlineNs: 60e9,
};

async function launchFolder(): Promise<string> {
  const folder = join(temporaryFolder(), ".fleet-run");
  await createLaunchFolder(folder, order);
  return folder;
}

describe("the folder by which fleet run and its nodes communicate", () => {
  test("has the nodes' instructions until fleet run removes it", async () => {
    const folder = await launchFolder();
    expect(await readOrder(folder)).toEqual(order);
    expect(await isOrderGone(folder)).toBe(false);
    // A folder that cannot be read may still be waited for.
    expect(await isOrderGone(join(folder, "order.json"))).toBe(false);
    await removeLaunchFolder(folder);
    expect(await isOrderGone(folder)).toBe(true);
    await expect(readOrder(folder)).rejects.toThrow("which lists what this node is to measure");
  });

  test("has the nodes' reports under the names of the nodes", async () => {
    const folder = await launchFolder();
    const name = await claimNode(folder, "n01");
    const end = { state: "measured" as const, reason: null, file: "n01.json", wallNs: 1 };
    await writeNodeEnd(folder, name!, end);
    const reports = new NodeReports(folder);
    await reports.refresh();
    expect(reports.started.get("n01")).toMatchObject({ host: "n01" });
    expect(reports.ended.get("n01")).toEqual(end);
    expect(readdirSync(folder).sort()).toEqual(["n01.ended", "n01.started", "order.json"]);
    // The start of a node is the time when it was first seen.
    const { foundMs } = reports.started.get("n01")!;
    vi.spyOn(performance, "now").mockReturnValueOnce(foundMs + 1000);
    await reports.refresh();
    vi.restoreAllMocks();
    expect(reports.started.get("n01")!.foundMs).toBe(foundMs);
  });

  test("lets only one process of a node measure, and reports a file that cannot be written", async () => {
    const folder = await launchFolder();
    const claims = await Promise.all(["pod", "pod", "other"].map((host) => claimNode(folder, host)));
    expect(claims.sort()).toEqual([null, "other", "pod"]);
    await removeLaunchFolder(folder);
    const message = expect.stringContaining(`cannot write ${join(folder, "n01.started")}`);
    await expect(claimNode(folder, "n01")).rejects.toMatchObject({ kind: "output", message });
  });

  test("has the reason why a node failed, and what to do", async () => {
    const folder = await launchFolder();
    const entry = join(temporaryFolder(), "killed.js");
    writeFileSync(entry, 'process.kill(process.pid, "SIGKILL")');
    const { signal } = new AbortController();
    const env = { PINBENCH_NODE_NAME: "n01" };
    await measureAsNode(folder, { entry, render: JSON.stringify, signal, env });
    const reports = new NodeReports(folder);
    await reports.refresh();
    expect(reports.ended.get("n01")).toMatchObject({
      state: "failed",
      reason: expect.stringMatching(
        /^A measuring process was killed \(SIGKILL\)\. .*ask for smaller sizes\.$/,
      ),
      file: null,
      // The duration of a process, in ns.
      wallNs: expect.toSatisfy((ns: number) => ns > 1e6),
    });
  });

  test("belongs to one run, even if two create it at the same time", async () => {
    const folder = join(temporaryFolder(), ".fleet-run");
    const made = await Promise.allSettled([
      createLaunchFolder(folder, order),
      createLaunchFolder(folder, order),
    ]);
    expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("keeps the files of nodes inside, whatever their names", async () => {
    const folder = await launchFolder();
    const hosts = ["../../etc/passwd", ".hidden", "a b\n$(rm)"];
    const names = [];
    for (const host of hosts) names.push(await claimNode(folder, host));
    expect(names).toEqual(["_._.._etc_passwd", "_hidden", "a_b___rm_"]);
    expect(await claimNode(await launchFolder(), "n".repeat(300))).toBe("n".repeat(200));
    const reports = new NodeReports(folder);
    await reports.refresh();
    expect([...reports.started.values()].map(({ host }) => host).sort()).toEqual([...hosts].sort());
  });
});

test("a node has the name that the user sets, or Slurm's, or else that of the machine", () => {
  expect(nodeName({ PINBENCH_NODE_NAME: "a", SLURMD_NODENAME: "b" })).toBe("a");
  for (const own of [{}, { PINBENCH_NODE_NAME: "" }])
    expect(nodeName({ ...own, SLURMD_NODENAME: "b" })).toBe("b");
  expect(nodeName({})).not.toBe("");
});
