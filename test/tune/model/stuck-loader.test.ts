import { beforeEach, describe, expect, it, vi } from "vitest";
import { openModelProbe } from "../../../src/tune/model/model-probe.js";
import { closeLoader } from "../../../src/tune/model/model-trial.js";
import { control, FakeDriver, FakeLoader, probeOptions, setting } from "./support.js";

/* Loaders that cannot be closed, with time limits that expire at once. */

const limitsMs = vi.hoisted(() => [] as number[]);
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number, value: unknown) => {
    limitsMs.push(ms);
    return new Promise((resolve) => setImmediate(resolve, value));
  },
}));
beforeEach(() => void limitsMs.splice(0));

const never = new Promise<void>(() => undefined);
const stuck = (stepNs: number | null = null) =>
  Object.assign(new FakeLoader([1]), { closing: never, stepNs });

describe("closing a loader", () => {
  const { signal } = new AbortController();

  it("times out after two steps and 5 s, or after 2 s if aborted", async () => {
    expect(await closeLoader(stuck(), signal)).toBeNull();
    expect(await closeLoader(stuck(10e6), signal)).toBeNull();
    expect(await closeLoader(stuck(10e6), AbortSignal.abort())).toBeNull();
    expect(limitsMs).toEqual([5000, 5020, 2000]);
  });

  it("reports how many samples it began, or null if it fails", async () => {
    expect(await closeLoader(new FakeLoader([]), signal)).toBe(8);
    const failing = Object.assign(new FakeLoader([]), { close: () => Promise.reject(new Error("no")) });
    expect(await closeLoader(failing, signal)).toBeNull();
  });
});

describe("a loader that hangs for ever", () => {
  const opened = async (changes: Parameters<typeof probeOptions>[1] = {}) => {
    const fake = new FakeDriver();
    fake.open = () => stuck();
    return { fake, probe: await openModelProbe(probeOptions(fake.driver, changes)) };
  };

  it("makes later trials fail, and keeps its session open for its threads", async () => {
    const { fake, probe } = await opened();
    expect(await probe.measure(setting(), control(9, { timeoutNs: 1e6 }))).toMatchObject({
      failure: { fault: "hang", everywhere: true },
    });
    await expect(probe.measure(setting(), control(1))).rejects.toMatchObject({
      ...{ kind: "measurement", message: expect.stringContaining("The loader of an earlier setting hangs") },
    });
    await probe.close();
    expect(fake.openSessions).toBe(1);
  });

  it("has less time to end if the probe is aborted than if only its trial is", async () => {
    const { probe } = await opened();
    const end = new AbortController();
    const enough = (by: AbortController) => () => {
      by.abort();
      return false;
    };
    await probe.measure(setting(), control(9, { signal: end.signal, enough: enough(end) }));
    const all = new AbortController();
    const other = await opened({ signal: all.signal });
    await other.probe.measure(setting(), control(9, { enough: enough(all) }));
    expect(limitsMs).toEqual([5000, 2000]);
  });
});
