import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FleetDocument, fleetSchema } from "../../src/fleet/fleet-document.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { callCli } from "../helpers/in-process.js";
import { type Slowed, writeNodes } from "../helpers/recorded-nodes.js";
import { buildFailed } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";

const isPinnedTo = ({ direction, memory }: CellResult) => direction === "h2d" && memory === "pinned";
const halfOn =
  (...hosts: string[]): Slowed =>
  (host, cell) =>
    hosts.includes(host) && isPinnedTo(cell) ? 0.5 : 1;

/** A folder with the folder `results` of twelve nodes. */
function fleetFolder(slowed?: Slowed): string {
  const cwd = temporaryFolder();
  writeNodes(join(cwd, "results"), 12, slowed);
  return cwd;
}

const healthy = () => fleetFolder();
const oneSlow = () => fleetFolder(halfOn("n07"));

describe("pinbench fleet", () => {
  it("ends with 0 if no node is slow", async () => {
    const { exitCode, stdout, stderr } = await callCli(["fleet", "results"], { cwd: healthy() });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain("=> none is slow: 12 nodes compared\n");
  });

  /** The exit code of a saved fleet after a change. */
  const exitCodeWith = async (change: (document: FleetDocument) => void) => {
    const cwd = fleetFolder();
    await callCli(["fleet", "results", "--output", "fleet.json"], { cwd });
    const file = join(cwd, "fleet.json");
    const document = fleetSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    change(document);
    writeFileSync(file, JSON.stringify(document, null, 2));
    return (await callCli(["fleet", "fleet.json"], { cwd })).exitCode;
  };

  it.each([0.05, 0.5])("ends with 1 if a part of the nodes is slower by %f", async (loss) => {
    const slowPart = { hosts: ["n01"], change: -loss, reason: "One part is slow.", action: "monitor" };
    expect(await exitCodeWith(({ groups }) => Object.assign(groups[0]!, { slowPart }))).toBe(1);
  });

  it("ends with 6 if no node was compared, and with 0 if some were", async () => {
    const compare = (count: number) =>
      exitCodeWith(({ nodes }) => {
        for (const [index, node] of nodes.entries()) node.compared = index < count;
      });
    expect([await compare(0), await compare(1)]).toEqual([6, 0]);
  });

  it("ends with 1 if a node is slow, and names it first", async () => {
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd: oneSlow() });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /=> 1 of 12 nodes is slow: GPU 0 of n07 \((49|50)\.\d % slower\), not confirmed: measure again\n/,
    );
  });

  it.each([
    ["is slow", oneSlow],
    ["is not slow", healthy],
  ])("ends with 4 if a node has no figures and another %s, and lists broken files", async (_, folder) => {
    const cwd = folder();
    writeFileSync(join(cwd, "results", "broken.json"), "{");
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd });
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(
      /unreadable +1 +results\/broken\.json +monitor +results\/broken\.json is not JSON/,
    );
  });

  it("ends with 4 if no node is slow and a GPU failed in one cell", async () => {
    const cwd = fleetFolder();
    const path = join(cwd, "results", "n07.json");
    const result = JSON.parse(readFileSync(path, "utf8"));
    const { error } = buildFailed({}, "CUDA", "an illegal address");
    Object.assign(result.cells[0], { outcome: "failed", error, stats: [] });
    writeFileSync(path, JSON.stringify(result));
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd });
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/=> 1 of 12 nodes has no complete result: 1 incomplete \(n07\)\n/);
  });

  it("ends with 7 if a node's data came back wrong, also if others are slow or broken", async () => {
    const cwd = oneSlow();
    const path = join(cwd, "results", "n03.json");
    const result = JSON.parse(readFileSync(path, "utf8"));
    Object.assign(result.cells[0], { outcome: "mismatch", stats: [] });
    writeFileSync(path, JSON.stringify(result));
    writeFileSync(join(cwd, "results", "broken.json"), "{");
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd });
    expect(exitCode).toBe(7);
    expect(stdout).toContain("=> 1 node copied wrong data: n03: isolate\n");
  });

  it.each([
    ["nodelist", /^n07\n$/],
    [
      "drain",
      /^scontrol update nodename="n07" state=drain reason="pinbench: GPU 0 [\d.]+ % slower \(.*\)"\n$/,
    ],
    ["openmetrics", /^pinbench_fleet_outlier\{host="n07",gpu="0",uuid="GPU-n07"\} 1$/m],
    ["csv", /^cuda,n07,measured,.*,gpu,/m],
    ["reference", /^\{\n {2}"listed": \[\n {4}\{\n {6}"gpu": "NVIDIA H200",\n/],
    ["markdown", /^## pinbench fleet: 1 of 12 nodes is slow/],
    ["html", /^<!doctype html>/i],
  ])("prints the result in the format %s", async (format, form) => {
    const { exitCode, stdout, stderr } = await callCli(["fleet", "results", "--format", format], {
      cwd: oneSlow(),
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(stdout).toMatch(form);
  });

  it("compares results imported from nvbandwidth by their host names, and names the slow node", async () => {
    const cwd = temporaryFolder();
    for (const [i, rate] of [13.6, 55.3, 55.2, 55.4].entries()) {
      const nvbandwidth = {
        ...{ version: "v0.8", "GPU Device list": [`0: NVIDIA H200 (00000000:18:00): (node-${i})`] },
        testcases: [{ name: "host_to_device_memcpy_ce", status: "Passed", bandwidth_matrix: [[`${rate}`]] }],
      };
      writeFileSync(join(cwd, `${i}.txt`), JSON.stringify({ nvbandwidth }));
      const args = ["import", "nvbandwidth", `${i}.txt`, "--output", `${i}.json`];
      const { exitCode, stderr } = await callCli(args, { cwd });
      expect(exitCode).toBe(0);
      expect(stderr).toContain("fleet places it by the reference and by similar GPUs alone.");
    }
    const { exitCode, stdout } = await callCli(["fleet", "."], { cwd });
    expect(exitCode).toBe(1);
    expect(stdout).toContain(
      "=> 1 of 4 nodes is slow: GPU 0 of node-0 (75.4 % slower), not confirmed: measure again\n",
    );
  });

  it("writes a file of each format, and prints a saved fleet.json again in any format", async () => {
    const names = ["json", "csv", "md", "txt", "prom", "html", "svg"].map(
      (extension) => `fleet.${extension}`,
    );
    const outputs = names.flatMap((name) => ["--output", name]);
    const cwd = fleetFolder(halfOn("n02", "n03"));
    const first = await callCli(["fleet", "results", ...outputs, "--all"], { cwd });
    expect(first).toMatchObject({ exitCode: 1, stderr: "" });
    for (const name of names) expect(existsSync(join(cwd, name)), name).toBe(true);
    const again = await callCli(["fleet", "fleet.json", "--all"], { cwd });
    expect(again).toEqual(first);
    expect(readFileSync(join(cwd, "fleet.txt"), "utf8")).toBe(first.stdout);
    expect((await callCli(["fleet", "fleet.json", "--format", "nodelist"], { cwd })).stdout).toBe(
      "n[02-03]\n",
    );
    expect(await callCli(["show", "fleet.json", "--output", "page.html"], { cwd })).toMatchObject({
      exitCode: 0,
    });
    expect(readFileSync(join(cwd, "page.html"), "utf8")).toContain('data-chart="gpus"');
  });
});
