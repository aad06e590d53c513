import { describe, expect, it } from "vitest";
import { type PinOptions, pin } from "../../src/index.js";
import { pinningSchema } from "../../src/pin/pinning-document.js";

const small: PinOptions = { backend: "emulated", sizes: "4MiB" };

describe("pin() of the library", () => {
  it("returns a valid document with two measured pools or more", async () => {
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

  it("rejects if the default size is above the limit maxPinned", async () => {
    await expect(pin({ backend: "emulated", maxPinned: "32MiB" })).rejects.toMatchObject({
      kind: "limit",
      message: expect.stringMatching(
        /^A pool of 64 MiB would be above the limit of 32 MiB \(--max-pinned\)\./,
      ),
    });
  });

  it("rejects a wrong option, and says what is wrong", async () => {
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
