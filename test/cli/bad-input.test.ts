import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { callCli } from "../helpers/in-process.js";
import { type Finished, runCli, runSmall, small, temporaryFolder } from "../helpers/run-cli.js";

/** Requires one sentence with its hint on one line of stderr, and no other output. */
function expectRefusal({ exitCode, stdout, stderr }: Finished, expectedCode: number, sentence: RegExp): void {
  expect(stderr).toMatch(sentence);
  expect(stderr).toMatch(/^pinbench: [^\n]+[.?]\n$/);
  expect(stderr).not.toMatch(/\bat [^\n]*:\d+:\d+/);
  expect({ exitCode, stdout }).toEqual({ exitCode: expectedCode, stdout: "" });
}

describe("a flag or value that makes no sense is wrong usage", () => {
  it.each([
    ["an unknown command", ["frobnicate"], /there is no command "frobnicate"\. See/],
    ["a command that is nearly right", ["rnu"], /there is no command "rnu"\. Did you mean run\? See/],
    ["an unknown flag", ["run", "--frobnicate"], /there is no flag "--frobnicate"\. See pinbench run --help/],
    ["one of two words", ["fleet", "run", "--frobnicate"], /"--frobnicate"\. See pinbench fleet run --help/],
    [
      "a flag that is nearly right",
      ["run", "--size", "1MiB"],
      /there is no flag "--size"\. Did you mean --sizes\?/,
    ],
    [
      "a budget of more than a day",
      ["run", "--budget", "100h"],
      /The time budget cannot be 100 h: it is from 0 to 24 h\./,
    ],
    [
      "a word too many",
      ["run", "fast"],
      /too many arguments: .* no place for "fast"\. See pinbench run --help\./,
    ],
    [
      "a list with spaces",
      ["run", "--memory", "pinned", "pageable", "--workers", "1"],
      /no place for "pageable"\. A list has commas, and no spaces: --memory pinned,pageable\./,
    ],
    [
      "a list with commas and spaces",
      ["run", "--memory", "pinned,", "pageable"],
      /"" is not a memory kind\. A list has commas, and no spaces\. Choose from pageable, /,
    ],
    [
      "a baseline without its flag",
      ["check", "old.json"],
      /no place for "old\.json"\. Name the baseline with --baseline old\.json\./,
    ],
    ["a flag without its value", ["run", "--sizes"], /: --sizes needs a value\. See/],
    ["two formats", ["run", "--json", "--format", "csv"], /--json and --format csv contradict each other/],
    ["a plan as CSV", ["run", "--dry-run", "--format", "csv"], /not as csv\. .*--json instead/],
    ["a plan as Markdown", ["run", "--dry-run", "--format", "markdown"], /not as markdown\. .*--json/],
    ["a plan in a file", ["run", "--dry-run", "--output", "a.json"], /Leave --output out; .*redirect/],
  ])("%s", async (_, args, sentence) => {
    expectRefusal(await callCli(args), 2, sentence);
  });

  it.each([
    ["found while the flags are parsed", ["--sizes", "0"], /"0" is no size to copy/],
    ["found by a command", ["--dry-run", "--format", "csv"], /not as csv\./],
    ["found before measuring", ["--numa", "999"], /This machine has no NUMA node 999\./],
  ])("in a process of its own, too: %s", async (_, args, sentence) => {
    expectRefusal(await runSmall(args), 2, sentence);
  });

  it.each([
    ["--memory", "pined", /"pined" is not a memory kind\. Did you mean pinned\? Choose from pageable,/],
    ["--direction", "H2D", /"H2D" is not a direction\. Did you mean h2d\?/],
    ["--backend", "rocm", /Choose from auto, cuda, emulated/],
    ["--preset", "huge", /Choose from quick, default, shmoo/],
    ["--format", "xml", /Choose from table, json, markdown, html, csv\./],
    ["--memory", "shared", /"shared" is not a memory kind\. .*Choose from pageable,/],
    ["--direction", "up", /"up" is not a direction\. Choose from h2d, d2h, bidir, d2d/],
    ["--mode", "speed", /"speed" is not a mode/],
    ["--timer", "sun", /"sun" is not a timer/],
    ["--cache", "tepid", /"tepid" is not a cache state/],
    ["--sizes", "0", /"0" is no size to copy: a size is at least 1 byte/],
    ["--sizes", "-1", /"-1" is not a size/],
    ["--sizes", "NaN", /"NaN" is not a size/],
    ["--sizes", "16M", /does not say whether M counts in 1024s or 1000s\. Write 16MiB .* or 16MB/],
    ["--sizes", "1TiB", /a copy of 1 TiB is larger than the 16 GiB of memory of device 0/],
    ["--sizes", "1KiB..1MiB*1", /never ends: a factor of 1 increases nothing/],
    ["--sizes", "1KiB..1MiB+0", /never ends: its step is 0/],
    ["--sizes", "2MiB..1MiB*2", /never reaches its end/],
    ["--sizes", "1B..1GiB+1B", /more than 1000 sizes/],
    ["--workers", "0", /"0" is not a number of workers/],
    ["--workers", "10000", /cannot have 10000 workers: it has from 1 to 1024/],
    ["--workers", "two", /"two" is not a number of workers/],
    ["--device", "first", /"first" is not a device number/],
    ["--precision", "0%", /is not a share above 0 %/],
    ["--precision", "5", /"5" is not a share above 0 % and up to 50 %\. Did you mean 5%\?/],
    ["--budget", "8", /"8" is not a duration\. Write a number and a unit/],
    ["--budget", "-1s", /"-1s" is not a duration/],
    ["--samples", "0", /The number of samples cannot be 0/],
    ["--samples", "many", /"many" is not a number of samples/],
    ["--staging-slots", "1", /staging slots cannot be 1: .* from 2 to 64/],
    ["--staging-chunk", "1KiB", /staging chunk cannot be 1024: .* from 4 KiB to 256 MiB/],
    ["--seed", "-1", /"-1" is not a seed/],
    ["--max-pinned", "lots", /"lots" is not a size/],
    ["--llc", "0", /"0" is no size/],
    ["--numa", "near", /"near" is not a NUMA node/],
    ["--numa", "999", /This machine has no NUMA node 999\. The nodes are 0/],
    ["--output", "result", /result has no extension, which names no format/],
    ["--output", "result.pdf", /the extension \.pdf, which names no format\. Use one of \.txt, \.json, /],
    ["--output", "", /"" has no extension/],
  ])("%s %s", async (flag, value, sentence) => {
    const cwd = temporaryFolder();
    expectRefusal(await callCli(small(flag, value), { cwd }), 2, sentence);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it("d2d from host memory", async () => {
    const { exitCode, stderr } = await callCli(small("--direction", "d2d", "--memory", "pinned"));
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/memory pinned has no effect on them/);
  });
});

describe("a plan that needs more than there is names the limit", () => {
  it.each([
    [
      "--max-pinned",
      ["--max-pinned", "1MiB"],
      {},
      /it would pin 2 MiB .* above the limit of 1 MiB \(--max-pinned\)/,
    ],
    ["the device's memory", [], { PINBENCH_EMULATED_MEMORY: "1MiB" }, /above 90 % of its 1 MiB/],
  ] as [string, string[], Record<string, string>, RegExp][])("%s", async (_, args, env, sentence) => {
    expectRefusal(await callCli(small("--memory", "pinned", ...args), { env }), 2, sentence);
  });
});

describe("an output that cannot be written is found before anything is measured", () => {
  it.each([
    ["none/result.json", /its folder does not exist/],
    ["folder.json", /it is a folder/],
    ["kept.json", /kept\.json\.partial is needed during the run, and it is a folder/],
    ["file/result.json", /a part of its path is a file/],
    [`${"x".repeat(250)}.json`, /its name is too long/],
  ])("%s", async (path, reason) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, "folder.json"));
    mkdirSync(join(cwd, "kept.json.partial"));
    writeFileSync(join(cwd, "file"), "");
    const before = readdirSync(cwd);
    const long = ["--budget", "1h", "--output", "good.csv"];
    expectRefusal(await callCli(small(...long, "--output", path), { cwd }), 2, reason);
    expect(readdirSync(cwd)).toEqual(before);
  });
});

describe("a backend, device or driver that is not there", () => {
  const noGpu = { CUDA_VISIBLE_DEVICES: "" };

  it.each([
    [
      "a GPU",
      ["--backend", "cuda"],
      noGpu,
      /The CUDA backend is not available: .* or add --backend emulated: /,
    ],
    ["device 7", ["--device", "7"], {}, /There is no device 7: the driver reports only 0/],
    ["one of several", ["--device", "0,1"], {}, /There is no device 1/],
    [
      "any emulated device",
      [],
      { PINBENCH_EMULATED_DEVICES: "0" },
      /CUDA_ERROR_NO_DEVICE.*PINBENCH_EMULATED_/,
    ],
    [
      "a setting's meaning",
      [],
      { PINBENCH_EMULATED_MEMORY: "much" },
      /CUDA_ERROR_INVALID_VALUE.*PINBENCH_EMULATED_/,
    ],
    ["a timer for that memory", ["--memory", "pageable", "--timer", "event"], {}, /Nothing can be measured/],
  ] as [string, string[], Record<string, string>, RegExp][])("%s", async (_, args, env, sentence) => {
    expectRefusal(await callCli(small(...args), { env }), 3, sentence);
  });

  it.each([
    ["a library that is not there", "none.so", /there is no driver library .*none\.so/],
    [
      "a file that is no library",
      "text.so",
      /The driver cannot be used: cannot load .*text\.so.*PINBENCH_CUDA_LIBRARY/,
    ],
    ["a library that is no driver", process.execPath, /The driver cannot be used: /],
  ])("PINBENCH_CUDA_LIBRARY with %s, also without --backend cuda", async (_, library, sentence) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "text.so"), "no library");
    const env = { PINBENCH_CUDA_LIBRARY: library.includes("/") ? library : join(cwd, library) };
    for (const backend of ["auto", "cuda"]) {
      expectRefusal(await callCli(small("--backend", backend), { env }), 3, sentence);
    }
  });

  it.each([
    ["nothing", "none.node", /none\.node does not load: there is no such file .*Point PINBENCH_ADDON/],
    ["garbage", "garbage.node", /garbage\.node does not load: it is not an ELF file .*Point PINBENCH_ADDON/],
    ["a script", "script.js", /script\.js does not load: it is not an ELF file .*Point PINBENCH_ADDON/],
  ])("PINBENCH_ADDON with %s", async (_, name, sentence) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "garbage.node"), "garbage");
    writeFileSync(join(cwd, "script.js"), "process.stdout.write('it was run')");
    const env = { PINBENCH_ADDON: join(cwd, name) };
    expectRefusal(await runCli(["devices"], { env }), 3, sentence);
  });
});

it("--debug shows where an error came from", async () => {
  const { exitCode, stderr } = await callCli(small("--sizes", "0", "--debug"));
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^pinbench: .*\nPinbenchError: .*\n +at /);
});
