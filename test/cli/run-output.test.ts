import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { Plan } from "../../src/plan/plan.js";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { parseResult } from "../../src/results/parse.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCli, callCliAlone } from "../helpers/in-process.js";
import {
  measureSmall,
  pinbench,
  restingLink,
  runCli,
  runSmall,
  small,
  start,
  startCli,
  temporaryFolder,
} from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

const twoKinds = ["--memory", "pageable,pinned"];
const routes = ["h2d/pageable", "h2d/host", "h2d/pinned", "d2h/pageable", "d2h/host", "d2h/pinned"];

describe("pinbench run", () => {
  it("prints a header, a table for each direction and the cold start", async () => {
    const { exitCode, stdout } = await callCli(small(...twoKinds, "--all"));
    expect(exitCode).toBe(0);
    for (const part of [
      /^pinbench \d+\.\d+\.\d+\n/,
      /^! emulated device: .*\n\n/m,
      / {2}Device {2}pinbench emulated device 0, 16 GiB/,
      / {2}Link .*\n {2}Driver .*CUDA \d+\.\d.*\n {2}Host .*\n {2}Cache {3}cold.* 1 MiB, from the emulated device\)\n {2}Timing {2}wall clock/,
      /Host to device \(H2D\), GB\/s\n.*pinned\/\n +size +workers +pageable +pinned +pageable\n/,
      /\n +64 KiB +1 +\d+(\.\d+)? .*×\n/,
      /Device to host \(D2H\), GB\/s\n/,
      /Cold start: paid once, part of no figure above\n {2}driver .*, context .*, first copy /,
    ])
      expect(stdout).toMatch(part);
  });

  it("prints exactly one JSON document with --json, as the schema says", async () => {
    const { exitCode, stdout, document } = await measureSmall(twoKinds);
    expect(exitCode).toBe(0);
    expect(schemaErrors(JSON.parse(stdout))).toBeNull();
    expect(document).toMatchObject({ backend: "emulated", run: { status: "complete", error: null } });
    expect(document.run.argv).toEqual(small(...twoKinds, "--json"));
    expect(document.run.finishedAt).not.toBeNull();
  });

  it("prints a table and writes several files, each in the format of its extension", async () => {
    const cwd = temporaryFolder();
    const files = ["a.json", "b.csv", "c.md", "d.txt"];
    const outputs = files.flatMap((file) => ["--output", file]);
    const env = { FORCE_COLOR: "1" };
    const finished = await runSmall([...twoKinds, "--all", ...outputs], { cwd, env });
    expect(finished.exitCode).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(files);
    const [json, csv, markdown, table] = files.map((file) => readFileSync(join(cwd, file), "utf8"));
    expect(schemaErrors(JSON.parse(json!))).toBeNull();
    const [head, ...rows] = csv!.trim().split("\n");
    expect(head).toMatch(/^id,figure,moved,median,/);
    expect(rows.map((row) => row.split(",").slice(0, 2))).toEqual(
      routes.map((route) => [`d0/${route}/65536/w1/throughput/cold`, "rate"]),
    );
    expect(markdown).toMatch(/^## pinbench: /);
    expect(markdown).toContain("## Host to device (H2D), GB/s\n\n| size | workers |");
    // Files have no colours.
    expect(finished.stdout).toContain("\u001b[");
    expect(table).toBe(stripVTControlCharacters(finished.stdout));
    for (const text of [json, markdown, table]) expect(text).toContain(emulatedNotice);
    expect(csv).toContain(",emulated,");
  });

  it("writes finished rounds to FILE.partial, and replaces FILE only at the end", async () => {
    const cwd = temporaryFolder();
    const file = join(cwd, "a.json");
    writeFileSync(file, "before");
    const lasting = ["--budget", "2s", "--precision", "0.001%", "--quiet"];
    const args = small(...lasting, "--output", "a.html", "--output", file);
    const { child, finished } = startCli(args, { cwd, env: restingLink });
    while (!existsSync(`${file}.partial`)) {
      if (child.exitCode !== null) throw new Error("it ended without FILE.partial");
      await sleep(20);
    }
    // A page takes long to draw, and nobody looks at it yet.
    expect(readdirSync(cwd)).not.toContain("a.html.partial");
    const partial = parseResult(readFileSync(`${file}.partial`, "utf8"));
    expect(partial.run).toMatchObject({ status: "running", finishedAt: null });
    expect(partial.cells.length).toBeGreaterThan(0);
    expect(partial.cells.every(({ samples }) => samples.length > 0)).toBe(true);
    expect(readFileSync(file, "utf8")).toBe("before");
    expect((await finished).exitCode).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(["a.html", "a.json"]);
    expect(parseResult(readFileSync(file, "utf8")).run.status).toBe("complete");
  });

  it("measures the emulated device if there is no GPU, and says so on stderr unless it is quiet", async () => {
    const env = { CUDA_VISIBLE_DEVICES: "" };
    const args = ["--backend", "auto", "--memory", "pinned"];
    const { exitCode, stdout, stderr } = await runSmall(args, { env });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^pinbench: using the emulated device, because .*\.\n$/);
    expect(stdout).toContain(emulatedNotice);
    expect((await runSmall([...args, "--quiet"], { env })).stderr).toBe("");
  });

  it("prints warnings on stderr, also with --dry-run", async () => {
    const tooMany = String(availableParallelism() + 1);
    const { stdout, stderr } = await callCli(small("--workers", tooMany, "--dry-run", "--json"));
    expect(stderr).toMatch(new RegExp(`^pinbench: ${tooMany} workers: only \\d+ CPUs? (is|are) usable.*\n$`));
    expect((JSON.parse(stdout) as Plan).notes).toHaveLength(1);
  });

  it.each([
    ["the table", []],
    ["JSON that is larger than a pipe", ["--json", "--sizes", "1KiB..64KiB*1.3"]],
  ])("exits with 0 if the reader of stdout leaves early: %s", async (_, args) => {
    const pipeline = 'set -o pipefail; "$@" | head -1';
    const command = [process.execPath, pinbench, ...small("--samples", "1", ...args)];
    const { exitCode, stdout, stderr } = await start("bash", ["-c", pipeline, "bash", ...command]).finished;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.trim().split("\n")).toHaveLength(1);
  });
});

describe("without a GPU", () => {
  const folder = () => join(temporaryFolder(), "baseline");
  const args = ["--sizes", "64KiB", "--memory", "pinned", "--samples", "6", "--no-config"];

  it.skipIf(existsSync("/proc/driver/nvidia/version")).each([
    ["run --json", () => ["run", "--json", ...args]],
    ["baseline", () => ["baseline", folder(), "--runs", "2", ...args]],
    ["doctor --json", () => ["doctor", "--json", "--preset", "quick"]],
    ["pin --json", () => ["pin", "--json", "--sizes", "4MiB"]],
  ])("%s measures the emulated device only on request", async (_, words) => {
    const { exitCode, stdout, stderr } = await callCli(words());
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(
      /^pinbench: The CUDA backend is not available: .* To measure the emulated device instead, add --backend emulated\.\n$/,
    );
  });

  it.skipIf(existsSync("/proc/driver/nvidia/version"))(
    "run without --json measures the emulated device, and says so",
    async () => {
      const { exitCode, stdout } = await callCli(["run", ...args]);
      expect(exitCode).toBe(0);
      expect(stdout).toContain("! emulated device");
      expect((await callCli(["run", "--json", "--backend", "auto", ...args])).exitCode).toBe(0);
    },
  );
});

const dry = ["run", "--backend", "emulated", "--dry-run"];

async function planOf(args: readonly string[], options: Parameters<typeof callCli>[1] = {}) {
  const { stdout, ...finished } = await callCli(["run", "--dry-run", "--json", ...args], options);
  expect(finished).toMatchObject({ exitCode: 0 });
  return { ...finished, plan: JSON.parse(stdout) as Plan };
}

/** The values of one parameter over all cells, each once. */
const axis = <Key extends keyof Plan["cells"][number]>({ cells }: Plan, key: Key) => [
  ...new Set(cells.map((cell) => cell[key])),
];

describe("--dry-run", () => {
  it("shows the plan with its memory, and what it measures beyond plain copies", async () => {
    const plain = await callCli([...dry, "--sizes", "1MiB,16MiB", "--workers", "1"]);
    expect(plain.exitCode).toBe(0);
    for (const line of [
      /^The plan \(nothing was measured\)\n/,
      / {2}Cells +14 cells, preset default\n/,
      / {2}Memory +pageable, staged, host, pinned\n/,
      / {2}Sizes +1 MiB, 16 MiB\n/,
      / {2}Host memory +\d.* of which \d.* pinned\n/,
    ])
      expect(plain.stdout).toMatch(line);
    expect(plain.stdout).not.toMatch(/Time|At once|Paths|Beside|Chunks/);
    const args = ["--sizes", "1MiB", "--workers", "1", "--memory", "pinned", "--direction", "h2d,p2p"];
    const more = ["--together", "--beside", "memory,host", "--pipeline", "4", "--runs", "4"];
    const { stdout } = await callCli([...dry, ...args, ...more], { env: { PINBENCH_EMULATED_DEVICES: "2" } });
    expect(stdout).toContain("  At once      devices 0 and 1\n");
    expect(stdout).toContain("  Paths        write, read, through-host, kernel-write, kernel-read\n");
    expect(stdout).toContain("  Beside       a load on the device's memory, a load on the host's memory\n");
    expect(stdout).toContain("  Chunks       1, 4\n");
    expect(stdout).toMatch(/ {2}Runs +4 fresh processes, one after the other\n/);
  });

  it("fills in from the preset only what no flag sets", async () => {
    const preset = async (...flags: string[]) => (await planOf([...dry.slice(1), "--quiet", ...flags])).plan;
    const usual = await preset();
    expect(usual.preset).toBe("default");
    expect(axis(usual, "memory")).toEqual(["pageable", "staged", "pinned", "host"]);
    expect(axis(usual, "direction")).toEqual(["h2d", "d2h"]);
    // A machine of little memory leaves out the largest, and a note says so.
    const sizes = [64, 1024, 16 * 1024, 64 * 1024, 128 * 1024].map((KiB) => KiB * 1024);
    expect(axis(usual, "sizeBytes")).toEqual(sizes.slice(0, axis(usual, "sizeBytes").length));
    const quick = await preset("--preset", "quick");
    expect(quick.cells.map(({ id }) => id)).toEqual(
      routes.map((route) => `d0/${route}/33554432/w1/throughput/cold`),
    );
    const changed = await preset("--preset", "quick", "--sizes", "1KiB..4KiB*2,6KB", "--direction", "bidir");
    expect(axis(changed, "sizeBytes").sort((a, b) => a - b)).toEqual([1024, 2048, 4096, 6000]);
    const copies = changed.cells.filter(({ memory }) => memory !== "host");
    expect(new Set(copies.map(({ direction, memory }) => `${direction}/${memory}`))).toEqual(
      new Set(["bidir/pageable", "bidir/pinned"]),
    );
  });
});

describe("a configuration", () => {
  const few = { backend: "emulated", sizes: "64KiB,128KiB", workers: 1, memory: "pinned" };

  it("sets the cells that run measures, and is named on stderr", async () => {
    const cwd = folderOf({ [configFile]: { plan: { ...few, direction: "h2d", samples: 6 } } });
    const { exitCode, stdout, stderr } = await callCli(["run", "--json"], { cwd });
    expect(exitCode).toBe(0);
    const { cells, backend } = parseResult(stdout);
    expect(cells.map(({ id }) => id)).toEqual(
      [65536, 131072].map((size) => `d0/h2d/pinned/${size}/w1/throughput/cold`),
    );
    expect(backend).toBe("emulated");
    expect(stderr).toContain("pinbench: Using the configuration pinbench.config.json.\n");
    expect((await callCli(["run", "--dry-run", "--quiet"], { cwd })).stderr).toBe("");
  });

  it("overrides the defaults, and flags override it", async () => {
    const cwd = folderOf({ [configFile]: { plan: { ...few, device: 1, verify: "every", precision: "7%" } } });
    const options = { cwd, env: { PINBENCH_EMULATED_DEVICES: "2" } };
    const { plan } = await planOf([], options);
    expect(axis(plan, "device")).toEqual([1]);
    expect(plan).toMatchObject({ verify: "every", stopping: { precision: 0.07 } });
    const flags = ["--device", "0", "--verify", "last", "--sizes", "4KiB", "--backend", "emulated"];
    const { plan: flagged } = await planOf(flags, options);
    expect(axis(flagged, "device")).toEqual([0]);
    expect(axis(flagged, "sizeBytes")).toEqual([4096]);
    expect(axis(flagged, "memory")).toEqual(["pinned"]);
    expect(flagged).toMatchObject({ verify: "last", stopping: { precision: 0.07 } });
  });

  it("is chosen by --config, ignored with --no-config, and not looked for above the home folder", async () => {
    const other = { plan: { ...few, sizes: "4KiB" } };
    const cwd = folderOf({ [configFile]: { plan: few }, "other.json": other, "home/project/a": "" });
    const named = await planOf(["--config", "other.json"], { cwd });
    expect(axis(named.plan, "sizeBytes")).toEqual([4096]);
    expect(named.stderr).toContain("Using the configuration other.json.");
    const none = await planOf(["--no-config", "--backend", "emulated", "--preset", "quick"], { cwd });
    expect(axis(none.plan, "memory")).toEqual(["pageable", "host", "pinned"]);
    expect(none.stderr).not.toContain("configuration");
    const home = { cwd: join(cwd, "home/project"), env: { HOME: join(cwd, "home") } };
    const below = await runCli(["run", "--dry-run", "--backend", "emulated"], home);
    expect(below).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("configuration") });
  });
});

describe("--label", () => {
  it("is saved in the result and its CSV, shown in its header, and ignored by compare", async () => {
    const cwd = temporaryFolder();
    const outputs = ["--output", "a.json", "--output", "a.csv"];
    const labelled = await callCli(small("--label", "rack=7", "--label", "row=b", ...outputs), { cwd });
    expect(labelled.stdout).toMatch(/Labels +rack=7; row=b/);
    const document = parseResult(readFileSync(join(cwd, "a.json"), "utf8"));
    expect(document.run.labels).toEqual({ rack: "7", row: "b" });
    expect(document.plan?.settings).not.toHaveProperty("labels");
    const [head = "", row = ""] = readFileSync(join(cwd, "a.csv"), "utf8").split("\n");
    // Counted from the end: texts with commas stand before them.
    const [names, values] = [head.split(",").reverse(), row.split(",").reverse()];
    expect(Object.fromEntries(names.map((name, i) => [name, values[i]]))).toMatchObject({
      ...{ host: document.host?.hostname, run_id: document.run.id },
      ...{ started_at: document.run.startedAt, labels: "rack=7; row=b" },
    });
    await callCli(small("--output", "b.json"), { cwd });
    expect(parseResult(readFileSync(join(cwd, "b.json"), "utf8")).run).not.toHaveProperty("labels");
    const comparison = await callCli(["compare", "a.json", "b.json", "--json"], { cwd });
    expect(JSON.parse(comparison.stdout)).toMatchObject({ differences: [] });
  });

  it("is saved in every run of a baseline, and in a result of several processes", async () => {
    const folder = join(temporaryFolder(), "runs");
    const [, ...flags] = small("--label", "rack=7", "--quiet");
    expect((await callCliAlone(["baseline", folder, "--runs", "2", ...flags])).exitCode).toBe(0);
    const runs = readdirSync(folder).filter((name) => name !== "baseline.json");
    const texts = runs.map((name) => readFileSync(join(folder, name), "utf8"));
    texts.push((await callCliAlone(["run", "--json", "--runs", "2", ...flags])).stdout);
    expect(texts.map((text) => parseResult(text).run.labels)).toEqual(Array(3).fill({ rack: "7" }));
  });
});
