import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { receivedError, sentError } from "../../src/measure/worker-messages.js";
import { type HookMessage, readMessage } from "../../src/tune/live/live-messages.js";
import { LoaderRecord } from "../../src/tune/live/loader-record.js";
import { type Message, spokenProbe } from "../../src/tune/torch/torch-messages.js";
import { expectNoPollution, hostileText, runs } from "../helpers/hostile.js";
import { mutated, mutation } from "../helpers/mutations.js";
import { countTrials, trials } from "../helpers/trials.js";

const setting = {
  numWorkers: 4,
  pinMemory: true,
  prefetchFactor: 2,
  persistentWorkers: false,
  nonBlocking: false,
};
const place = { cpus: [0, 1], memoryPolicy: "default", pciBusId: null };
const facts = {
  ...{ device: null, runtime: "torch 2.11.0", batch: { samples: 64, bytes: 1024, description: "float32" } },
  ...{ pinningOff: null, workersOff: null, filesPerBatch: 2, fileLimit: 1024, filesInUse: 20, place },
};
const failure = {
  ...{ fault: "hang" as const, message: "It hung.", hint: null, traceback: null, everywhere: false },
};

const ofHook: HookMessage[] = [
  { type: "hello", pid: 17, rank: 0, worldSize: 2, localWorldSize: 2 },
  {
    type: "loader",
    loader: 1,
    setting,
    source: "ImageFolder",
    name: "ImageFolder, 64, 1a2b3c4d",
    startMethod: "fork",
    epochBatches: null,
    framework: null,
  },
  { type: "batch", loader: 1, facts },
  { type: "epoch", loader: 1, event: "begin", ns: 1e15 },
  {
    ...{ type: "batches", loader: 1, change: 0, ns: [1e15, 1.1e15], waitNs: [5e6, 6e6], grad: true },
    ...{ made: 2, makeNs: 8e6, collated: 0, collateNs: 0, handedOver: 0, handOverNs: 0, workers: [18, 19] },
  },
  { type: "changed", loader: 1, change: 1, ns: 2e15 },
  { type: "check", loader: 1, check: "keeps", message: "It keeps its samples." },
  { type: "renewed", loader: 1 },
  { type: "ownIter", name: "torchdata.stateful_dataloader.StatefulDataLoader" },
  { type: "failed", loader: 1, change: 1, failure },
];

const figures = { waitNsPerBatch: 1e6, copyNsPerBatch: null };

const ofProbe: Message[] = [
  { type: "phase", phase: "the data set was being made" },
  { type: "ready", facts: facts as never },
  { type: "refused", kind: "usage", message: "There is no file.", hint: null, traceback: "Traceback" },
  { type: "preparing", trial: 1 },
  { type: "arrivals", ns: [1, 2, 3] },
  { type: "sums", trial: 1, figures },
  { type: "ending", trial: 1, failure, figures },
  { type: "ended", trial: 1 },
];

/** Records a hook's message of a loader, which must not fail, whatever numbers are in it. */
function take(message: HookMessage): void {
  const record = new LoaderRecord(ofHook[1] as never);
  if (message.type === "loader") new LoaderRecord(message);
  else if (message.type !== "hello" && message.type !== "failed") record.add(message);
  expect(typeof record.isInEpoch).toBe("boolean");
}

describe("a line from another process is read as a valid message, or ignored:", () => {
  it.each<[string, readonly { type: string }[], (line: string) => { type: string } | null]>([
    ["from the hook in a training job", ofHook, readMessage],
    ["from the probe of a torch Dataset", ofProbe, spokenProbe.read],
  ])("%s", (_, messages, read) => {
    for (const message of messages) expect(read(JSON.stringify(message))).toEqual(message);
    const trial = countTrials("lines of other processes changed at random");
    let heard = 0;
    const line = fc.oneof(
      { weight: 9, arbitrary: fc.tuple(fc.constantFrom(...messages), mutation) },
      { weight: 1, arbitrary: hostileText },
    );
    fc.assert(
      fc.property(line, (given) => {
        trial.tries();
        const text = typeof given === "string" ? given : mutated(...given);
        const message = read(text);
        if (message !== null) {
          ++heard;
          const whole = messages.find(({ type }) => type === message.type);
          expect(Object.keys(message)).toEqual(expect.arrayContaining(required(whole!)));
          if (read === readMessage) take(message as HookMessage);
        }
        trial.survives();
      }),
      runs(trials(300, 10_000)),
    );
    expect(heard).toBeGreaterThan(0);
    expectNoPollution();
  });

  /** Fields that no message of the type may lack. */
  const required = (message: object) =>
    Object.entries(message).flatMap(([key, value]) =>
      key === "framework" || value === undefined ? [] : [key],
    );

  it("with a wrong field", () => {
    const [, , , epoch, batches] = ofHook;
    expect(readMessage(JSON.stringify({ ...batches, ns: null }))).toBeNull();
    expect(readMessage(JSON.stringify({ ...batches, waitNs: [1, "2"] }))).toBeNull();
    expect(readMessage(JSON.stringify({ ...epoch, event: "middle" }))).toBeNull();
    expect(readMessage('{"type":"constructor"}')).toBeNull();
    expect(spokenProbe.read('{"type":"arrivals","ns":[NaN]}')).toBeNull();
    expect(
      spokenProbe.read('{"type":"refused","kind":"whatever","message":"m","hint":null,"traceback":null}'),
    ).toBeNull();
  });
});

it("whatever a worker process throws reaches its parent as an Error with a message", () => {
  const trial = countTrials("lines of other processes changed at random");
  const thrown = fc.oneof(
    hostileText,
    fc.constantFrom(null, undefined, 1, Symbol("x")),
    fc
      .record({ message: hostileText, code: hostileText, sticky: fc.boolean() })
      .map((fields) => Object.assign(new Error(), fields)),
  );
  fc.assert(
    fc.property(thrown, (error) => {
      trial.tries();
      const received = receivedError(structuredClone(sentError(error)));
      expect(received).toBeInstanceOf(Error);
      expect(typeof received.message).toBe("string");
      trial.survives();
    }),
    runs(trials(200, 5000)),
  );
});
