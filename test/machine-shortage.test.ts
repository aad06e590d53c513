import { afterEach, describe, expect, it, vi } from "vitest";
import { shortageHint, shortageOf } from "../src/machine-shortage.js";

const withCode = (code: string) => Object.assign(new Error("no"), { code });

/** As if this process had these limits. */
function limited(userLimits: Record<string, { soft: number | string }>) {
  vi.spyOn(process.report, "getReport").mockReturnValue({ userLimits });
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a shortage of the machine", () => {
  const files = "too many open files (a process may have 256 here).";
  const processes = "the system starts no more processes or threads (this user may have 512 here).";
  const memory = "memory ran out (a process may have 4096 bytes of address space here).";

  it.each<[string | Error, string, string]>([
    ["ERR_ACCESS_DENIED", "Node's permission model forbids it.", "--allow-addons"],
    ["ERR_DLOPEN_DISABLED", "Node's permission model forbids it.", "--allow-addons"],
    ["EMFILE", files, "ulimit -n"],
    ["ENFILE", "too many files are open on this machine.", "fs.file-max"],
    ["EAGAIN", processes, "pids.max"],
    ["TOO_MANY_THREADS", processes, "pids.max"],
    ["CUDA_ERROR_OPERATING_SYSTEM", "the system refused the driver a resource.", "of open files (ulimit -n)"],
    ["ENOMEM", memory, "fewer workers"],
    ["ERR_MEMORY_ALLOCATION_FAILED", memory, "fewer workers"],
    ["ERR_WORKER_OUT_OF_MEMORY", memory, "fewer workers"],
    ["OUT_OF_HOST_MEMORY", memory, "fewer workers"],
    [new Error("Array buffer allocation failed"), memory, "fewer workers"],
    [new Error("libcuda.so.1: cannot map zero-fill pages"), memory, "fewer workers"],
    [new Error("libcuda.so.1: failed to map segment from shared object"), memory, "fewer workers"],
    [new Error("std::bad_alloc"), memory, "fewer workers"],
  ])("is recognized by the error %s, and explained with what to do", (found, message, hint) => {
    limited({
      open_files: { soft: 256 },
      max_user_processes: { soft: 512 },
      virtual_memory_bytes: { soft: 4096 },
    });
    const cause = typeof found === "string" ? withCode(found) : found;
    const expected = { kind: "unavailable", hint: expect.stringContaining(hint) as string, cause };
    expect(shortageOf(cause)).toMatchObject({ ...expected, message });
    expect(shortageOf(cause, "cannot read a.json")).toMatchObject({
      message: `cannot read a.json: ${message}`,
    });
  });

  it.each<[string, unknown]>([
    ["a failure with another code, whatever it says", Object.assign(new Error("bad_alloc"), { code: "EIO" })],
    ["a failure without a code", new Error("it is too hot")],
    ["a text that is no error", "bad_alloc"],
  ])("is not seen in %s", (_, error) => {
    expect(shortageOf(error)).toBeNull();
  });

  it("is explained without an unlimited resource, and with Node 20's name of the address space", () => {
    limited({ open_files: { soft: "unlimited" }, virtual_memory_kbytes: { soft: 8192 } });
    expect(shortageOf(withCode("EMFILE"))?.message).toBe("too many open files.");
    expect(shortageOf(withCode("EAGAIN"))?.message).toBe("the system starts no more processes or threads.");
    expect(shortageOf(withCode("ENOMEM"))?.message).toContain("8192 bytes of address space");
  });

  it("has a hint for each code of the addon, and none for other codes", () => {
    expect(shortageHint("TOO_MANY_THREADS")).toContain("pids.max");
    expect(shortageHint("OUT_OF_HOST_MEMORY")).toContain("fewer workers");
    expect(shortageHint("CUDA_ERROR_UNKNOWN")).toBeNull();
    expect(shortageHint(null)).toBeNull();
  });
});
