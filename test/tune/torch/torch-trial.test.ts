import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Exit } from "../../../src/host/python/python-process.js";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { Figures, TrialControl } from "../../../src/tune/loader-probe.js";
import type { Message, ProbeProcess } from "../../../src/tune/torch/torch-messages.js";
import { runTorchTrial } from "../../../src/tune/torch/torch-trial.js";
import { failureOf } from "../../helpers/tune.js";

/* A trial, by what its Python program says. */

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const two = usualSetting(2, false);

/** The third trial of a program that a test speaks for. */
function trialWith(changes: Partial<TrialControl> = {}) {
  const sent: object[] = [];
  let end: (exit: Exit) => void = () => undefined;
  const probe = {
    onMessage: (_: Message) => undefined as unknown,
    exit: new Promise<Exit>((resolve) => {
      end = resolve;
    }),
    send: (command: object) => void sent.push(command),
    forgetStderr: vi.fn(),
    stderrTail: "the last words",
    signalAll: vi.fn(),
    scratch: "/proc/self/task",
  };
  const aborting = new AbortController();
  const control: TrialControl = {
    ...{ enough: (arrivals) => arrivals.length >= 3, signal: aborting.signal, timeoutNs: 20e9, ...changes },
  };
  const result = runTorchTrial(probe as unknown as ProbeProcess, 3, two, control);
  const tell = (...messages: Message[]) => {
    for (const message of messages) probe.onMessage(message);
  };
  const abort = async () => {
    aborting.abort();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { result, tell, sent, probe, end, aborting, abort };
}

const arrivals = (...ns: number[]): Message => ({ type: "arrivals", ns });
const ending = (more: Partial<Extract<Message, { type: "ending" }>> = {}): Message => ({
  ...({ type: "ending", trial: 3, failure: null, figures: { waitNsPerBatch: 5 } } as const),
  ...more,
});
const ended: Message = { type: "ended", trial: 3 };
const stop = { type: "stop", trial: 3 };

describe("a trial that has enough batches", () => {
  it("is asked to end once, and takes no batches that come later", async () => {
    const { result, tell, sent, probe } = trialWith();
    tell(arrivals(1, 2), arrivals(3), arrivals(4), ending(), ended);
    expect(await result).toMatchObject({
      ...{ isUsable: true },
      trial: { setting: two, arrivalsNs: [1, 2, 3], aborted: false, failure: null, waitNsPerBatch: 5 },
    });
    expect(sent).toEqual([{ type: "measure", trial: 3, setting: two }, stop]);
    expect(probe.forgetStderr).toHaveBeenCalledOnce();
  });

  it("reports the last figures of each kind, and none of another trial", async () => {
    const { result, tell } = trialWith();
    const figures = (more: Partial<Figures>): Message => ({ type: "sums", trial: 3, figures: more });
    tell(figures({ waitNsPerBatch: 1, makeNsPerBatch: 2 }), arrivals(1, 2, 3));
    tell({ type: "sums", trial: 2, figures: { makeNsPerBatch: 9 } }, { type: "ended", trial: 2 });
    tell(ending({ figures: { waitNsPerBatch: 7 } }), ended);
    expect((await result).trial).toMatchObject({ waitNsPerBatch: 7, makeNsPerBatch: 2, pinnedBytes: null });
  });

  it("does not fail if its program fails, is killed or hangs while it stops", async () => {
    const failure = failureOf("worker-killed");
    const failing = trialWith();
    failing.tell(arrivals(1, 2, 3), ending({ failure }), ended);
    expect(await failing.result).toMatchObject({ isUsable: true, trial: { failure: null } });
    const killed = trialWith();
    killed.tell(arrivals(1, 2, 3));
    killed.end({ code: null, signal: "SIGKILL", error: null });
    expect(await killed.result).toMatchObject({ isUsable: false, trial: { failure: null } });
    const late = trialWith();
    late.tell(arrivals(1, 2, 3));
    await vi.advanceTimersByTimeAsync(5001);
    expect(await late.result).toMatchObject({ isUsable: false, trial: { failure: null } });
  });
});

describe("the failure of a trial", () => {
  const failure = failureOf("worker-killed");

  it.each([
    ["worker-killed", true, "the last words"],
    ["device-error", false, null],
  ] as const)(
    "leaves its program to later trials unless the device is gone: %s",
    async (fault, isUsable, traceback) => {
      const { result, tell } = trialWith();
      tell(arrivals(1), ending({ failure: failureOf(fault) }), ended);
      expect(await result).toMatchObject({
        ...{ isUsable, trial: { arrivalsNs: [1], failure: { ...failureOf(fault), traceback } } },
      });
    },
  );

  it("is that its program ended, unless the program reported another failure before", async () => {
    const { result, end } = trialWith();
    end({ code: 7, signal: null, error: null });
    expect(await result).toMatchObject({ isUsable: false, trial: { failure: { fault: "probe-died" } } });
    const told = trialWith();
    told.tell(ending({ failure }));
    told.end({ code: 7, signal: null, error: null });
    expect((await told.result).trial.failure).toMatchObject({ fault: "worker-killed" });
  });

  it("for want of batches is not reported if batches can be read when the time is up", async () => {
    const { result, tell, probe } = trialWith();
    setTimeout(() => tell(arrivals(1e9)), 20_000);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(probe.signalAll).not.toHaveBeenCalled();
    tell(arrivals(2e9, 3e9), ending(), ended);
    expect((await result).trial).toMatchObject({ failure: null, arrivalsNs: [1e9, 2e9, 3e9] });
  });

  it("for want of batches comes after the full timeout for a batch, or for files to leave the page cache", async () => {
    const { result, tell } = trialWith();
    let isOver = false;
    void result.then(() => (isOver = true));
    for (const message of [{ type: "preparing", trial: 3 } as const, arrivals(1), arrivals(2)]) {
      await vi.advanceTimersByTimeAsync(19_000);
      tell(message);
    }
    await vi.advanceTimersByTimeAsync(19_900);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(500);
    expect(await result).toMatchObject({
      ...{ isUsable: false, trial: { arrivalsNs: [1, 2] } },
      trial: {
        failure: { fault: "hang", message: expect.stringMatching(/^No further batch came within 20 s/) },
      },
    });
  });

  it("by the caller's callback, which throws, stops the trial and rejects with that error", async () => {
    const enough = () => {
      throw new Error("it is none");
    };
    const { result, tell, sent } = trialWith({ enough });
    tell(arrivals(1));
    await expect(result).rejects.toThrow("it is none");
    expect(sent.at(-1)).toEqual(stop);
  });
});

describe("a trial that is aborted", () => {
  it("has no failure", async () => {
    const { result, tell, abort, sent } = trialWith();
    await vi.advanceTimersByTimeAsync(200);
    tell(arrivals(1e6));
    await vi.advanceTimersByTimeAsync(300);
    await abort();
    tell(ending({ failure: failureOf("hang") }), ended);
    const { trial } = await result;
    expect(trial).toMatchObject({ aborted: true, failure: null, arrivalsNs: [1e6] });
    expect(sent.filter((command) => "type" in command && command.type === "stop")).toHaveLength(1);
  });

  it("has no failure if the abort comes while a hang is examined", async () => {
    const { result, abort } = trialWith();
    await vi.advanceTimersByTimeAsync(20_001);
    await abort();
    expect(await result).toMatchObject({ isUsable: false, trial: { aborted: true, failure: null } });
  });

  it("counts batches that could already be read, as this process may have lacked CPU time", async () => {
    const { result, tell, aborting } = trialWith();
    await vi.advanceTimersByTimeAsync(5000);
    aborting.abort();
    tell(arrivals(1e9, 5e9));
    await vi.advanceTimersByTimeAsync(0);
    tell(ending(), ended);
    expect((await result).trial).toMatchObject({
      aborted: true,
      failure: null,
      arrivalsNs: [1e9, 5e9],
    });
  });

  it("just as it ends by itself is not asked to end, and leaves no timer behind", async () => {
    const { result, tell, aborting, sent } = trialWith();
    aborting.abort();
    tell(arrivals(1), ending(), ended);
    expect((await result).trial).toMatchObject({ aborted: false, arrivalsNs: [1] });
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).not.toContainEqual(stop);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("before it began is stopped at once, and after it has enough is not aborted", async () => {
    const before = trialWith({ signal: AbortSignal.abort() });
    expect(before.sent.at(-1)).toEqual(stop);
    before.tell(ended);
    expect((await before.result).trial).toMatchObject({ aborted: true, arrivalsNs: [] });
    const after = trialWith();
    after.tell(arrivals(1, 2, 3));
    await after.abort();
    after.tell(ended);
    expect((await after.result).trial.aborted).toBe(false);
  });
});
