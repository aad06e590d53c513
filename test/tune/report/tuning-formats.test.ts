import { execFileSync } from "node:child_process";
import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNote, emulatedNotice } from "../../../src/results/device-facts.js";
import { toPaste, usualSetting } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import { tuningKind } from "../../../src/tune/report/tuning-formats.js";
import { drawn, textFormats } from "../../helpers/drawn.js";
import { testPython } from "../../helpers/test-python.js";
import { buildTuning, type TuningPart } from "../../helpers/tuning.js";

const render = (format: string, part: TuningPart = {}, level: 0 | 1 = 0) =>
  drawn(tuningKind, buildTuning(part), format, fileScreen({ chalk: new Chalk({ level }) }));
const of = (setting: LoaderSetting): TuningPart => ({ recommendation: { setting } });

describe("the format python", () => {
  /** What Python makes of the text where a call's arguments stand. */
  const evaluated = (part: TuningPart) => {
    const program = `import json, sys\nprint(json.dumps(eval("dict(" + chr(10) + sys.stdin.read() + ")")))`;
    const input = render("python", part);
    return JSON.parse(execFileSync(testPython, ["-c", program], { input, encoding: "utf8" })) as unknown;
  };

  it.each([
    [
      usualSetting(8, true, 4),
      { num_workers: 8, pin_memory: true, prefetch_factor: 4, persistent_workers: true },
    ],
    [usualSetting(0, false), { num_workers: 0, pin_memory: false, persistent_workers: false }],
  ])("has the arguments of a DataLoader: %j", (setting, keywords) => {
    expect(evaluated(of(setting))).toEqual(keywords);
  });

  it("has the reasons above the arguments, and how to copy below", () => {
    const lines = render("python").split("\n");
    expect(lines[0]).toMatch(/^# 8 workers, not pinned: 72\.0 ±1\.0 % batches\/s/);
    expect(lines[1]).toBe("# The workers are the limit: all are busy making batches.");
    expect(lines[2]).toBe("num_workers=8,");
    expect(lines.slice(-2)).toEqual(["# batch.to(device, non_blocking=False)", ""]);
    expect(render("python", { probe: { kind: "live" } })).not.toContain("non_blocking");
    expect(render("python", { probe: { pinningOff: "torch sees no GPU" } })).not.toMatch(
      /pin_memory|non_blocking/,
    );
  });

  it("begins with a notice if the device is emulated", () => {
    expect(render("python", { probe: { notes: [emulatedNote] } }).split("\n")[0]).toBe(`# ${emulatedNotice}`);
  });

  it("is a comment if there is nothing to recommend", () => {
    expect(evaluated({ recommendation: null })).toEqual({});
    expect(render("python", { recommendation: null })).toBe(
      "# pinbench tune: no setting could be measured\n",
    );
  });
});

describe("the format env", () => {
  it("omits non_blocking for a running job, whose way of copying is unknown", () => {
    expect(render("env", { ...of(usualSetting(8, true)), probe: { kind: "live" } })).toBe(
      "PINBENCH_NUM_WORKERS=8 PINBENCH_PIN_MEMORY=1 PINBENCH_PREFETCH_FACTOR=2 PINBENCH_PERSISTENT_WORKERS=1\n",
    );
  });

  it.each([
    [
      usualSetting(8, true),
      "PINBENCH_NUM_WORKERS=8 PINBENCH_PIN_MEMORY=1 PINBENCH_PREFETCH_FACTOR=2 PINBENCH_PERSISTENT_WORKERS=1 PINBENCH_NON_BLOCKING=1\n",
    ],
    [
      usualSetting(0, false),
      "PINBENCH_NUM_WORKERS=0 PINBENCH_PIN_MEMORY=0 PINBENCH_PERSISTENT_WORKERS=0 PINBENCH_NON_BLOCKING=0\n",
    ],
  ])("is a line of assignments: %j", (setting, line) => {
    expect(render("env", of(setting))).toBe(line);
  });

  it("can be passed to a command by the shell's export", () => {
    const script = 'export $(cat); exec env | grep "^PINBENCH_[NP][UI][MN]_" | sort';
    const input = render("env", of(usualSetting(8, true)));
    expect(execFileSync("sh", ["-c", script], { input, encoding: "utf8" })).toBe(
      "PINBENCH_NUM_WORKERS=8\nPINBENCH_PIN_MEMORY=1\n",
    );
  });

  it("is empty if there is nothing to recommend", () => {
    expect(render("env", { recommendation: null })).toBe("");
  });
});

it("the format json is the whole document", () => {
  expect(JSON.parse(render("json"))).toEqual(buildTuning());
});

it("only the table has colours, and every format ends with one line break", () => {
  for (const format of textFormats("tuning")) {
    const [plain, coloured] = [render(format), render(format, {}, 1)];
    expect(coloured === plain, format).toBe(format !== "table");
    expect(plain, format).toMatch(/[^\n]\n$/);
  }
});

describe("the text to paste into a script", () => {
  const setting = { ...usualSetting(8, true), persistentWorkers: false };
  const first = (framework: "lightning" | "transformers" | "timm" | null) =>
    toPaste(buildTuning({ probe: { kind: "live", framework } }).probe, setting);

  it.each([
    [null, "num_workers=8 pin_memory=True prefetch_factor=2 persistent_workers=False"],
    [
      "transformers",
      "TrainingArguments(dataloader_num_workers=8, dataloader_pin_memory=True, dataloader_prefetch_factor=2, dataloader_persistent_workers=False)",
    ],
    ["timm", "--workers 8 --pin-mem"],
    [
      "lightning",
      "in train_dataloader(): DataLoader(num_workers=8, pin_memory=True, prefetch_factor=2, persistent_workers=False)",
    ],
  ] as const)("has the form of the framework that makes the loader: %s", (framework, text) => {
    expect(first(framework)).toBe(text);
  });
});
