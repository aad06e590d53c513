import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { TorchProbeOptions } from "../../../src/tune/torch/torch-messages.js";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";

/* A probe, with a program in Python's place that sends the messages of a test. */

const python = fileURLToPath(new URL("../../fixtures/tune/spoken_probe.mjs", import.meta.url));
const two = usualSetting(2, false);
const control = { enough: () => true, signal: new AbortController().signal, timeoutNs: 60e9 };

function optionsFor(script: object, changes: Partial<TorchProbeOptions> = {}): TorchProbeOptions {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-spoken-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const SPOKEN = JSON.stringify({ starts: join(folder, "starts"), ...script });
  return {
    ...{ python, torch: "data.py:make", batchSize: 4, step: null },
    ...{ rank: null, coldFolder: null, timeoutNs: 60e9 },
    ...{ environment: { SPOKEN, MINE: "yes" }, signal: new AbortController().signal, ...changes },
  };
}

async function opened(script: object = {}, changes: Partial<TorchProbeOptions> = {}) {
  const probe = await openTorchProbe(optionsFor(script, changes));
  onTestFinished(() => probe.close());
  return probe;
}

describe("a torch probe", () => {
  it("passes its options, and the variables of its rank and caller, to its Python program", async () => {
    const { facts } = await opened({}, { rank: { index: 1, count: 3 }, coldFolder: "/images" });
    const place = { cpus: [3], memoryPolicy: null, pciBusId: null };
    expect(facts).toMatchObject({
      ...{ kind: "torch", source: "data.py:make", isCold: true, places: [{ rank: 1, place }] },
    });
    const { env, message } = JSON.parse(facts.runtime!);
    expect(env).toMatchObject({
      RANK: "1",
      LOCAL_RANK: "1",
      WORLD_SIZE: "3",
      LOCAL_WORLD_SIZE: "3",
      MINE: "yes",
    });
    expect(message).toMatchObject({
      type: "open",
      link: true,
      torch: "data.py:make",
    });
    expect(message).not.toHaveProperty("environment");
  });

  it("without a rank runs as rank 0, and removes its files when it is closed", async () => {
    const probe = await opened();
    expect(probe.facts).toMatchObject({ isCold: false, places: [{ rank: 0 }] });
    const { env, scratch } = JSON.parse(probe.facts.runtime!);
    expect(env).toEqual({ MINE: "yes" });
    expect(existsSync(scratch)).toBe(true);
    await probe.close();
    expect(existsSync(scratch)).toBe(false);
  });

  it("runs its trials in one process, and in a new one once that is broken", async () => {
    const figuresOf = async (script: object) => {
      const probe = await opened(script);
      const trials = [await probe.measure(two, control), await probe.measure(two, control)];
      const [one, other] = trials.map(({ waitNsPerBatch }) => waitNsPerBatch);
      return {
        ...{ isSame: one === other, trials: trials.map(({ copyNsPerBatch }) => copyNsPerBatch) },
        links: trials.map(({ makeNsPerBatch }) => makeNsPerBatch),
      };
    };
    expect(await figuresOf({})).toEqual({ isSame: true, trials: [1, 2], links: [1, 1] });
    // The link is not timed again.
    expect(await figuresOf({ breaks: true })).toEqual({ isSame: false, trials: [1, 2], links: [1, 0] });
  });

  it("measures on in a new Python process after a callback of its caller has thrown", async () => {
    const probe = await opened();
    const enough = () => {
      throw new Error("it is none");
    };
    await expect(probe.measure(two, { ...control, enough })).rejects.toThrow("it is none");
    expect((await probe.measure(two, control)).makeNsPerBatch).toBe(0);
  });

  it("does not time out during a long step, in a trial and while it is opened", async () => {
    const probe = await opened({ stepNs: 60e9 }, { timeoutNs: 1, step: { timeNs: 60e9 } });
    expect(await probe.measure(two, { ...control, timeoutNs: 1 })).toMatchObject({ failure: null });
  });

  it("returns a trial without batches if that is aborted before the next process has started", async () => {
    const probe = await opened({ breaks: true });
    await probe.measure(two, control);
    const end = new AbortController();
    const trial = probe.measure(two, { ...control, signal: end.signal });
    end.abort();
    expect(await trial).toMatchObject({ aborted: true, failure: null, arrivalsNs: [] });
  });

  it("reports if its data cannot be opened again in a new process", async () => {
    const probe = await opened({ breaks: true, refusesAgain: true });
    await probe.measure(two, control);
    await expect(probe.measure(two, control)).rejects.toMatchObject({
      ...{ kind: "unsupported", message: "No.", hint: "Do." },
    });
  });
});

describe("a Python program that does not open the data is reported if it", () => {
  it.each<[string, object, string, RegExp, RegExp | null]>([
    ["refuses", { refuses: true }, "unsupported", /^No\.$/, /^Do\.$/],
    [
      "ends at once",
      { exits: 3, says: `${"first ".repeat(2000)}\nsecond\n` },
      "usage",
      /spoken_probe\.mjs ended with exit code 3 instead of running the probe\. It said: second$/,
      /--python/,
    ],
    [
      "ends while it makes the data set",
      { exits: 3, phase: "the data set was being made", says: "first\nsecond\n" },
      "measurement",
      /^Python ended with exit code 3 while the data set was being made\. Its last output: second$/,
      /^To reproduce it/,
    ],
    [
      "sends something that is not a message",
      { garbles: true },
      "usage",
      /was killed \(SIGKILL\) .* It said: The probe sent something that is not a message: hello$/,
      /--python/,
    ],
  ])("%s", async (_, script, kind, message, hint) => {
    const options = optionsFor(script);
    const error = await openTorchProbe(options).catch((reason: unknown) => reason);
    const { starts } = JSON.parse(options.environment!.SPOKEN!);
    const [scratch] = readFileSync(starts, "utf8").split("\n");
    expect(existsSync(scratch!)).toBe(false);
    expect(error).toMatchObject({ kind, message: expect.stringMatching(message) });
    if (hint !== null) expect(error).toMatchObject({ hint: expect.stringMatching(hint) });
  });
});
