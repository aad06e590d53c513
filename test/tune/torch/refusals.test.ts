import { afterAll, describe, expect, it } from "vitest";
import { PinbenchError } from "../../../src/errors.js";
import type { TorchProbeOptions } from "../../../src/tune/torch/torch-messages.js";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import { expectNothingLeft, options, skipWithoutTorch, target, testPython, torchMissing } from "./support.js";

async function refusalOf(name: string, changes: Partial<TorchProbeOptions> = {}): Promise<PinbenchError> {
  const error = await openTorchProbe(options(name, changes)).then(
    async (probe) => {
      await probe.close();
      return null;
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof PinbenchError)) throw error ?? new Error(`${name} was opened.`);
  return error;
}

type Case = [name: string, changes: Partial<TorchProbeOptions>, kind: string, message: RegExp];

describe("opening a probe fails", () => {
  it.each<Case>([
    ["no_file.py:x", {}, "usage", /^There is no file .*no_file\.py\.$/],
    ["data_sets.py", {}, "usage", /does not say where the data set is\.$/],
    ["data_sets.py:make", { python: "no-such-python" }, "usage", /^There is no no-such-python\.$/],
    ["data_sets.py:make", { python: "/bin/true" }, "usage", /^\/bin\/true ended with exit code 0 instead of/],
  ])("for %s with %o: %s error", async (name, changes, kind, message) => {
    const error = await refusalOf(name, changes);
    expect(error.message).toMatch(message);
    expect(error.kind).toBe(kind);
  });

  describe("after torch was imported", () => {
    skipWithoutTorch();

    it.each<Case>([
      [
        "faulty.py:raising_at_once",
        { batchSize: 2 },
        "measurement",
        /make a batch: ValueError: sample \d+ is bad \(test\/.*:\d+\)\.$/,
      ],
      [
        "faulty.py:hanging_at_once",
        // It must have come so far by then, on a busy machine too.
        { timeoutNs: 8e9 },
        "measurement",
        /^Nothing happened for 8 s while the data set was being made \(at test\/.*faulty\.py:\d+, in hanging_at_once\)\.$/,
      ],
    ])("for %s with %o: %s error", async (name, changes, kind, message) => {
      const error = await refusalOf(name, changes);
      expect(error.message).toMatch(message);
      expect(error.kind).toBe(kind);
    });
  });
});

it("a Python without torch is reported", async () => {
  // -S: without site-packages, as a launcher of a fresh environment would be.
  const error = await refusalOf("data_sets.py:make", { python: target("no_torch.sh") });
  expect(error.kind).toBe("unavailable");
  expect(error.message).toMatch(/\(Python 3\.\d+\.\d+\) has no torch\.$/);
});

it("opening a probe is interrupted by an abort, whether it comes before or during it", async ({ skip }) => {
  await expect(openTorchProbe(options("data_sets.py:make", { signal: AbortSignal.abort() }))).rejects.toThrow(
    "interrupted",
  );
  skip(torchMissing !== null, torchMissing ?? undefined);
  const signal = AbortSignal.timeout(300);
  await expect(openTorchProbe(options("data_sets.py:make", { signal, python: testPython }))).rejects.toThrow(
    "interrupted",
  );
});

afterAll(expectNothingLeft, 60_000);
