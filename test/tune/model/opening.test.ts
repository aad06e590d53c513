import { describe, expect, it } from "vitest";
import type { MeasureResult, NativeSession } from "../../../src/native/contract.js";
import { openModelProbe } from "../../../src/tune/model/model-probe.js";
import { control, FakeDriver, FakeLoader, nativeError, probeOptions, setting } from "./support.js";

/** A driver whose sessions differ in this. */
function driverWith(change: (session: NativeSession) => Partial<NativeSession>, fake = new FakeDriver()) {
  const { driver } = fake;
  const openSession: typeof driver.openSession = async (options) => {
    const session = await driver.openSession(options);
    return { ...session, ...change(session) };
  };
  return { ...driver, openSession };
}

const images = (count: number, totalBytes = 100 * count) => ({
  ...{ path: "/images", files: Array.from({ length: count }, (_, i) => `/images/${i}`), totalBytes },
  meanBytes: totalBytes / count,
});

describe("the link of a native probe", () => {
  const measuring = (change: (result: MeasureResult) => Partial<MeasureResult>) =>
    driverWith((session) => ({
      measure: async (request) => {
        const result = await session.measure(request);
        return { ...result, ...change(result) };
      },
    }));

  it("has the rate of the median copy, from buffers of whole huge pages", async () => {
    const reserved: number[] = [];
    const fake = measuring(({ columns }) => {
      columns[0]!.durationNs[0] = 1e9;
      return {};
    });
    const driver: typeof fake = {
      ...fake,
      openSession: async (options) => ({
        ...(await fake.openSession(options)),
        reserveDevice: async ({ chunkBytes }) => {
          reserved.push(chunkBytes);
          return undefined;
        },
      }),
    };
    const { facts } = await openModelProbe(probeOptions(driver));
    expect(facts.link).toEqual({ pinnedBytesPerSecond: 4e6, pageableBytesPerSecond: 1e6 });
    expect(reserved).toEqual([2 * 2 ** 20]);
  });

  it("is not computed from copies that were aborted", async () => {
    const driver = measuring(() => ({ aborted: true }));
    await expect(openModelProbe(probeOptions(driver))).rejects.toThrow("Opening the loader was interrupted.");
  });

  it("is null if memory is short; any other error makes opening fail", async () => {
    const end = new AbortController();
    const failing = (code: string) =>
      driverWith(() => ({
        reserveHost: async () => {
          if (code === "ABORTED_OUT_OF_MEMORY") end.abort();
          throw nativeError(code);
        },
      }));
    const opening = (code: string) => openModelProbe(probeOptions(failing(code), { signal: end.signal }));
    await expect(opening("CUDA_ERROR_LAUNCH_FAILED")).rejects.toThrow("it failed with CUDA_ERROR_LAUNCH");
    expect((await opening("CUDA_ERROR_OUT_OF_MEMORY")).facts.link).toBeNull();
    await expect(opening("ABORTED_OUT_OF_MEMORY")).rejects.toThrow("interrupted");
  });
});

it("a step is timed with samples that are neither read nor computed", async () => {
  const fake = new FakeDriver();
  const options = { data: images(3), sampleCostNs: 5e5, stepTimeNs: 1e6 };
  await openModelProbe(probeOptions(fake.driver, options));
  expect(fake.requested[0]).toMatchObject({ files: [], sampleCostNs: 0 });
});

it("a trial uses its setting's own prefetch factor and way of copying", async () => {
  const fake = new FakeDriver();
  const probe = await openModelProbe(probeOptions(fake.driver));
  await probe.measure(setting({ prefetchFactor: 7, nonBlocking: false }), control(1));
  fake.open = () => new FakeLoader([1]);
  await probe.measure(setting({ prefetchFactor: null, pinMemory: false }), control(1));
  expect(fake.requested).toMatchObject([
    { prefetchFactor: 7, nonBlocking: false, pinMemory: true },
    { prefetchFactor: 2, nonBlocking: true, pinMemory: false },
  ]);
});

it("an abort stops the session, also one that came before the opening; closing never fails", async () => {
  let aborts = 0;
  const end = new AbortController();
  const driver = driverWith(() => ({
    abort: () => void ++aborts,
    close: async () => {
      throw new Error("it is lost");
    },
  }));
  const probe = await openModelProbe(probeOptions(driver, { signal: end.signal }));
  end.abort();
  expect(aborts).toBe(1);
  await probe.close();
  const late = new AbortController();
  const opensLate = {
    ...driver,
    openSession: async (options: Parameters<typeof driver.openSession>[0]) => {
      late.abort();
      return driver.openSession(options);
    },
  };
  await openModelProbe(probeOptions(opensLate, { signal: late.signal })).catch(() => undefined);
  expect(aborts).toBe(3);
});

it("a device with too little memory is reported with what to do", async () => {
  const fake = new FakeDriver();
  const hintOf = (code: string) => {
    fake.open = () => {
      throw nativeError(code);
    };
    return openModelProbe(probeOptions(fake.driver, { stepTimeNs: "auto" })).catch(({ hint }) => hint);
  };
  expect(await hintOf("CUDA_ERROR_OUT_OF_MEMORY")).toBe("Ask for smaller batches, or free the device.");
  expect(await hintOf("CUDA_ERROR_LAUNCH_FAILED")).toBeNull();
});

describe("the facts of a native probe on its data", () => {
  const factsOf = async (changes: Parameters<typeof probeOptions>[1]) =>
    (await openModelProbe(probeOptions(new FakeDriver().driver, changes))).facts;

  it.each([
    [{}, "generated samples of 1000 B"],
    [{ data: images(1) }, "1 file of /images read whole"],
    [{ data: images(3), sampleCostNs: 5e5 }, "3 files of /images, each read whole, then 500 µs of computing"],
  ])("name the source of samples for %o: %s", async (changes, source) => {
    expect((await factsOf(changes)).source).toBe(source);
  });

  it("say whether files fit in memory and are decoded, and omit an absent step", async () => {
    const notes = async (changes: Parameters<typeof probeOptions>[1]) =>
      (await factsOf(changes)).notes.slice(1);
    const each = "Each file becomes a sample of 1000 B (the mean file has 101 B).";
    expect(await notes({ data: images(2, 201), sampleCostNs: 1 })).toEqual([
      each,
      "The files have 201 B, which fit in memory: after the first read they come from the page cache, as in a second epoch.",
    ]);
    const [, decoding, large] = await notes({ data: images(2, 2 ** 60) });
    expect(decoding).toMatch(/^Decoding the files is not part of the model/);
    expect(large).toMatch(/more than fits in memory: every epoch reads them from storage\.$/);
    const cold = { data: images(2, 201), dropFiles: async () => undefined, sampleCostNs: 1 };
    expect(await notes(cold)).toEqual([each]);
    expect(await notes({})).toEqual([]);
  });

  it("give the files and bytes of a batch, and the limit of open files", async () => {
    expect(await factsOf({ data: images(17), rank: { index: 1, count: 2 } })).toMatchObject({
      ...{ epochBatches: 3, fileBytesPerBatch: 400, filesPerBatch: 2, isCold: false },
    });
    const { fileLimit, filesInUse } = await factsOf({});
    expect(filesInUse).toBeLessThan(fileLimit!);
  });
});
