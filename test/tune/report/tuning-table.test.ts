import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import { usualSetting } from "../../../src/results/loader-setting.js";
import { tuningKind } from "../../../src/tune/report/tuning-formats.js";
import { drawn } from "../../helpers/drawn.js";
import { evenly } from "../../helpers/tune.js";
import {
  buildFailure,
  buildScore,
  buildTrial,
  buildTried,
  buildTuning,
  type TuningPart,
} from "../../helpers/tuning.js";

const render = (part: TuningPart = {}, level: 0 | 1 = 0) =>
  drawn(tuningKind, buildTuning(part), "table", fileScreen({ chalk: new Chalk({ level }) }));

/** What stands in the line that has all of `parts`. */
const columnsOf = (text: string, ...parts: string[]) =>
  text
    .split("\n")
    .find((line) => parts.every((part) => line.includes(part)))
    ?.trim()
    .split(/\s{2,}/);

/** The row of a setting. */
const rowOf = (text: string, workers: number, pinned: boolean) =>
  text
    .split("\n")
    .find((line) => new RegExp(`^ +${workers}   ${pinned ? "yes" : "no"} `).test(line))
    ?.trim()
    .split(/\s{2,}/);

/** The text without its line breaks. */
const flat = (text: string) => text.replaceAll(/\s+/g, " ");

const sixteen = usualSetting(16, false);

describe("the header of a tuning", () => {
  it("names the data, the batch, the device, the host and the method", () => {
    const text = render();
    expect(text.split("\n")[0]).toBe("pinbench 0.1.0 tune");
    expect(columnsOf(text, "Data ")?.[1]).toBe("train_data.py:make_dataset");
    expect(flat(text)).toContain("Batch 64 samples, 36.8 MiB: float32 [64, 3, 224, 224] + int64 [64]");
    expect(columnsOf(text, "Device ")?.[1]).toBe("NVIDIA H200; torch 2.11.0, Python 3.12.3");
    expect(flat(text)).toContain("Copies 55.3 GB/s pinned, 11.2 GB/s not pinned, one batch, measured alone");
    expect(columnsOf(text, "Host ")?.[1]).toBe("A CPU, 16 CPUs, at most 16 workers");
    expect(columnsOf(text, "Measured ")?.[1]).toBe("batches arriving in the steady state, a search of 9.4 s");
    expect(text).not.toContain("Step ");
  });

  it("shows step, quota and ranks, and omits unknown facts", () => {
    const text = render({
      probe: { device: null, runtime: null, link: null, stepNs: 70.02e6 },
      machine: { cpuQuota: 2.5, usableCpus: 3, ranks: 3 },
      method: { maxWorkers: 1 },
    });
    expect(columnsOf(text, "Device ")?.[1]).toBe("none: batches arrive in host memory");
    expect(text).not.toContain("Copies ");
    expect(columnsOf(text, "Step ")?.[1]).toBe("70.1 ms");
    expect(columnsOf(text, "Host ")?.[1]).toBe(
      "A CPU, 3 CPUs (quota 2.5), 3 ranks share them, at most 1 worker",
    );
    expect(columnsOf(text, "Measured ")?.[1]).toBe("batches arriving in the steady state, a search of 9.4 s");
  });

  it.each([
    ["complete", 9.4e9, undefined],
    ["aborted", 9.4e9, "! interrupted: these results were measured before that"],
    ["budget", 9.4e9, "! the budget ended before the search was done: use --budget 120s"],
    // A search that was undecided at the end of its budget went on.
    ["budget", 75e9, "! the budget ended before the search was done: use --budget 150s"],
  ] as const)("says how the search ended: %s after %d ns", (status, searchNs, alert) => {
    const text = render({ run: { status, searchNs } });
    expect(text.split("\n").find((line) => line.startsWith("!"))).toBe(alert);
  });
});

describe("a row of the table", () => {
  it("shows a setting with its rate and the memory that it took", () => {
    const text = render();
    expect(rowOf(text, 0, false)).toEqual(["0", "no", "-", "20.0 ±1.0 %", "0.77", "0.13", "0 B", "0 B"]);
    expect(rowOf(text, 16, true)).toEqual([
      "16",
      "yes",
      "2",
      "70.0 ±1.0 %",
      "2.69",
      "0.13",
      "1.22 GiB",
      "1.31 GiB",
    ]);
  });

  it("has its bandwidth in a smaller unit if all are small", () => {
    const text = render({ probe: { batch: { samples: 1, bytes: 3850, description: "int64 [481]" } } });
    expect(text).toMatch(/batches\/s +MB\/s/);
    expect(rowOf(text, 16, true)?.[4]).toBe("0.26");
  });

  it("has a mark if the setting is recommended", () => {
    const marked = render()
      .split("\n")
      .filter((line) => line.endsWith("<="));
    expect(marked).toHaveLength(1);
    expect(marked[0]).toMatch(/^ +8 +no +2 /);
  });

  it("has the largest memory of several trials, and gaps for unknown values", () => {
    const one = buildTried(sixteen, 72, { sharedMemoryBytes: 1e6, pinnedBytes: null });
    const [trial] = one.trials;
    const tried = [{ ...one, trials: [trial!, { ...trial!, sharedMemoryBytes: 2 ** 20 }, trial!] }];
    expect(rowOf(render({ tried }), 16, false)?.slice(-2)).toEqual(["1 MiB", "-"]);
  });

  it("says which workers persist, if some do and others restart", () => {
    const anew = { ...usualSetting(4, false), persistentWorkers: false };
    const tried = [buildTried(anew, 72), buildTried(usualSetting(4, false), 80)];
    expect(render({ tried })).toMatch(/^ +4 +persist +no .*\n +4 +no /m);
  });

  it("shows the longest start of its trials, as some in a running job have their workers already", () => {
    const startOf = (...firstNs: number[]) => {
      const trials = firstNs.map((first) => buildTrial({ arrivalsNs: evenly(10, 10e6, first) }));
      const text = render({ tried: [{ ...buildTried(sixteen, 72), trials }] });
      return rowOf(text, 16, false)?.[5];
    };
    expect(startOf(20e6, 720e6, 20e6)).toBe("0.72");
    expect(startOf(930e6, 20e6)).toBe("0.93");
  });

  it("has a note if it has no rate and no fault", () => {
    const text = render({
      tried: [buildTried(sixteen, null, { arrivalsNs: [1e9] }), buildTried(usualSetting(0, false), 20)],
    });
    expect(rowOf(text, 16, false)?.[3]).toBe("-");
    expect(flat(text)).toContain("16 workers, not pinned: too few batches arrived for a rate");
  });

  it("marks a rough figure, and shows no interval if that is open", () => {
    const rough = buildScore(72, { low: null, high: null, isSettled: false });
    const tried = [{ ...buildTried(sixteen, 72), score: rough }];
    const text = render({ tried });
    expect(rowOf(text, 16, false)?.[3]).toBe("72.0 ±? *");
    expect(flat(text)).toContain("* a rough figure: the trial ended before all batches");
  });

  it("is left out with the table if nothing was tried", () => {
    const text = render({ tried: [], recommendation: null });
    expect(text).not.toContain("batches/s");
    expect(text).toContain("=> no setting could be measured");
  });
});

describe("notes", () => {
  it.each([
    ["all bytes came from it", [1e9], {}, "Files came from storage: it is part of all figures."],
    ["few bytes came from it", [7e6], {}, null],
    ["the kernel does not report it", [null], {}, null],
    ["one setting read it", [1e9, 0], {}, "it is part of the figures of 0 workers, not pinned alone."],
    ["half of the files were read", [10e6], { fileBytesPerBatch: 2e6 }, "it is part of all figures."],
    ["cold trials read it", [20e6, 25e6], { fileBytesPerBatch: 2e6, isCold: true }, null],
    [
      "one cold trial did not read it",
      [20e6, 0],
      { fileBytesPerBatch: 2e6, isCold: true },
      "--cold had no effect on 1 of 2 settings",
    ],
  ] as const)("say which figures include storage: %s", (_, readBytes, probe, text) => {
    const tried = readBytes.map((storageReadBytes, i) =>
      buildTried(usualSetting(i, false), 72, { storageReadBytes }),
    );
    const said = flat(render({ probe, tried }));
    if (text === null) expect(said).not.toMatch(/storage|--cold/);
    else expect(said).toContain(text);
  });

  it("say which processes are bound to a wrong node", () => {
    expect(render({ probe: { bindingFaults: ["rank 0 uses CPUs of NUMA node 1"] } })).toContain(
      "  rank 0 uses CPUs of NUMA node 1\n",
    );
  });

  const pipe = { check: "connection", message: "the data set holds a pipe." } as const;
  const list = { check: "memory", message: "each worker copies its list." } as const;
  const eight = { setting: usualSetting(8, false), ratio: 3 };

  it.each([
    ["one", [pipe], eight, "8 workers, not pinned would be 3.0× as fast, once this is mended: the data set"],
    [
      "all, and the gain once",
      [pipe, list],
      eight,
      "once all of this is mended: the data set holds a pipe. each worker copies its list.",
    ],
    [
      "one, if no gain is known",
      [pipe],
      undefined,
      "no other number of workers is recommended: the data set",
    ],
  ])("say which problems keep the script's number of workers: %s", (_, checks, heldBack, text) => {
    expect(flat(render({ probe: { checks }, recommendation: { heldBack } }))).toContain(text);
  });

  it("say why no workers were tried, and include the probe's notes", () => {
    const text = render({
      probe: { workersOff: "the batches are cuda tensors", notes: ["This is a model."] },
    });
    expect(text).toContain("  no workers were tried: the batches are cuda tensors\n");
    expect(text).toContain("  This is a model.\n");
  });
});

describe("persistent workers", () => {
  const epochs = { batches: 80, betweenNs: 4e7, firstBatchNs: 2e8, isMeasured: true, share: 0.2 };
  const text = (part: TuningPart = {}) => flat(render(part));

  const risk = "Persistent workers keep their own copies of the data set: if it changes, leave it False.";

  it.each([
    ["their gain was not measured", {}, `The gain of persistent_workers=True was not measured. ${risk}`],
    ["their gain was measured", { recommendation: { setting: usualSetting(8, false), epochs } }, ` ${risk}`],
    ["the script has them", { probe: { kind: "live", startingPoint: usualSetting(4, false) } }, null],
    ["there are no workers", { recommendation: { setting: usualSetting(0, false) } }, null],
  ] as const)("have a note on their risk only if they are recommended: %s", (_, part, note) => {
    if (note === null) expect(text(part as TuningPart)).not.toContain(risk);
    else expect(text(part as TuningPart)).toContain(note);
  });
});

describe("the outcome of a tuning", () => {
  it("begins with the settings as keyword arguments, their rates and the limit", () => {
    expect(flat(render())).toMatch(/^pinbench 0\.1\.0 tune => num_workers=8 pin_memory=False /);
    expect(flat(render())).toContain(
      "=> num_workers=8 pin_memory=False prefetch_factor=2 persistent_workers=True non_blocking=False => 8 workers, not pinned: ",
    );
    expect(flat(render())).toContain(
      "=> 8 workers, not pinned: 72.0 ±1.0 % batches/s. DataLoader's defaults: 20.0 ±1.0 % batches/s. => The workers are",
    );
  });

  it("omits non_blocking for a running job, whose way of copying is unknown", () => {
    const text = render({ probe: { kind: "live", startingPoint: usualSetting(4, true) } });
    expect(text).toContain("=> num_workers=8 pin_memory=False");
    expect(text).not.toContain("non_blocking");
  });

  it("omits prefetch_factor without workers, and pin_memory if pinning was not tried", () => {
    const probe = { device: null, pinningOff: "torch sees no GPU" };
    const text = render({ recommendation: { setting: usualSetting(0, false) }, probe });
    expect(text).toContain("=> num_workers=0 persistent_workers=False\n");
  });
});

it("the text of a tuning fits into 100 columns, and colours add only escapes", () => {
  const tried = [
    ...buildTuning().tried,
    buildTried(usualSetting(4, false), null, { failure: buildFailure({ hint: "word ".repeat(60).trim() }) }),
  ];
  const plain = render({ tried });
  for (const line of plain.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  const coloured = render({ tried }, 1);
  expect(coloured).not.toBe(plain);
  expect(stripVTControlCharacters(coloured)).toBe(plain);
});
