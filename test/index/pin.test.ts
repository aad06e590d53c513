import { describe, expect, it } from "vitest";
import { type PinOptions, pin } from "../../src/index.js";
import { pinningSchema } from "../../src/pin/pinning-document.js";

const small: PinOptions = { backend: "emulated", sizes: "4MiB" };

describe("pin() of the library", () => {
  it("returns the document that --json prints", async () => {
    const pinning = await pin(small);
    expect(pinningSchema.parse(pinning)).toEqual(pinning);
    expect(pinning).toMatchObject({ kind: "pinning", status: "complete", backend: "emulated", labels: {} });
    expect(pinning.pools.filter(({ outcome }) => outcome === "measured").length).toBeGreaterThanOrEqual(2);
  });

  it("returns the results so far if it is aborted", async () => {
    const pinning = await pin({ ...small, signal: AbortSignal.abort() });
    expect(pinning).toMatchObject({ status: "aborted", recommendation: null });
    expect(pinning.pools.map(({ outcome }) => outcome)).toEqual(pinning.pools.map(() => "omitted"));
  });

  it("says which of the usual sizes are above a limit, and takes a smaller one", async () => {
    const limited: PinOptions = { backend: "emulated", maxPinned: "32MiB", signal: AbortSignal.abort() };
    const { omitted, pools } = await pin(limited);
    expect(omitted).toEqual(["a pool of 64 MiB: above the limit of 32 MiB (--max-pinned)"]);
    expect(new Set(pools.map(({ sizeBytes }) => sizeBytes))).toEqual(new Set([2 ** 25]));
  });

  it("says what is wrong with an option", async () => {
    await expect(pin({ ...small, size: 4096 } as PinOptions)).rejects.toMatchObject({
      kind: "usage",
      hint: "Did you mean sizes?",
    });
    await expect(pin({ ...small, device: "0,1" })).rejects.toMatchObject({
      kind: "usage",
      message: expect.stringMatching(/^"0,1" is not one device, /),
    });
    await expect(pin({ ...small, device: 7 })).rejects.toMatchObject({ kind: "unavailable" });
  });
});
