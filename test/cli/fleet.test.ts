import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fleetSchema } from "../../src/fleet/fleet-document.js";
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
    expect(stdout).toContain("=> none of 12 nodes (12 GPUs) is slow\n");
  });

  const slowPart = { hosts: ["n01"], reason: "n01 is slower", action: "monitor" } as const;
  const place = {
    place: "slot 3",
    nodes: 4,
    of: 4,
    change: -0.5,
    reason: "Slot 3 is slow.",
    action: "monitor",
  };

  it.each([
    ["some of 2 nodes are", { nodes: 2, slowPart }],
    ["some of 3 nodes are", { nodes: 3, slowPart }],
    ["one place in many nodes is", { slowPlaces: [place] }],
  ])("ends with 1 if %s slower than the others", async (_, part) => {
    const cwd = fleetFolder();
    await callCli(["fleet", "results", "--output", "fleet.json"], { cwd });
    const file = join(cwd, "fleet.json");
    const { groups, ...document } = fleetSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    const changed = { ...document, groups: groups.map((group) => ({ ...group, ...part })) };
    writeFileSync(file, JSON.stringify(changed, null, 2));
    expect((await callCli(["fleet", "fleet.json"], { cwd })).exitCode).toBe(1);
  });

  it("ends with 1 if one is, and names it first", async () => {
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd: oneSlow() });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /=> 1 of 12 nodes is slow: GPU 0 of n07 \((49|50)\.\d % slower in H2D pinned 32 MiB x1, since [-\d]+\s+[:\d]+ UTC or before; isolate\)/,
    );
  });

  it.each([
    ["is slow", oneSlow],
    ["is not", healthy],
  ])("ends with 4 if one has no figures and another %s; what cannot be read is a row", async (_, folder) => {
    const cwd = folder();
    writeFileSync(join(cwd, "results", "broken.json"), "{");
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd });
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/unreadable +1 +broken +results\/broken\.json is not JSON/);
  });

  it("ends with 4 if none is slow and a GPU failed in one cell", async () => {
    const cwd = fleetFolder();
    const path = join(cwd, "results", "n07.json");
    const result = JSON.parse(readFileSync(path, "utf8"));
    const { error } = buildFailed({}, "CUDA", "an illegal address");
    Object.assign(result.cells[0], { outcome: "failed", error, stats: [] });
    writeFileSync(path, JSON.stringify(result));
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd });
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/=> 1 node measured in part: n07 \(GPU 0 failed in h2d /);
  });

  it("ends with 7 if data of a node came back wrong, before all else", async () => {
    const cwd = oneSlow();
    const path = join(cwd, "results", "n03.json");
    const result = JSON.parse(readFileSync(path, "utf8"));
    Object.assign(result.cells[0], { outcome: "mismatch", stats: [] });
    writeFileSync(path, JSON.stringify(result));
    writeFileSync(join(cwd, "results", "broken.json"), "{");
    const { exitCode, stdout } = await callCli(["fleet", "results"], { cwd });
    expect(exitCode).toBe(7);
    expect(stdout).toContain("=> 1 node copied wrong data: n03 (");
  });

  it("ends with 6 if a node may be slow", async () => {
    const cwd = fleetFolder();
    await callCli(["fleet", "results", "--output", "fleet.json"], { cwd });
    const file = join(cwd, "fleet.json");
    const document = fleetSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    document.nodes[3]!.action = "monitor";
    writeFileSync(file, JSON.stringify(document));
    const { exitCode, stdout } = await callCli(["fleet", "fleet.json"], { cwd });
    expect(exitCode).toBe(6);
    expect(stdout).toContain("=> none of 12 nodes (12 GPUs) is called slow, but n04 may be\n");
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
  ])("prints %s", async (format, form) => {
    const { exitCode, stdout, stderr } = await callCli(["fleet", "results", "--format", format], {
      cwd: oneSlow(),
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(stdout).toMatch(form);
  });

  it("writes files of each kind, and prints a saved document anew in any format", async () => {
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
