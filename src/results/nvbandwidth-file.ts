import { z } from "zod";
import { PinbenchError } from "../errors.js";
import type { DirectionMoved } from "../settings/choices.js";
import { leastFigure, mostFigure } from "../settings/schema-parts.js";
import { MiB } from "../settings/units.js";
import { isObject, parseJson } from "../text-file.js";
import { cudaVersionName } from "./device-facts.js";
import type { DeviceRecord } from "./schema.js";

/**
 * Output of `nvbandwidth -j`, versions 0.5 to 0.9 (NVIDIA/nvbandwidth, json_output.cpp): one object below
 * "nvbandwidth". Cells of a matrix are strings: GB/s as a C++ stream prints them, or "N/A" if nothing ran. No version
 * records buffer size, number of samples and copies, median or mean, date and command line. "CUDA Runtime Version" is
 * cuDriverGetVersion (13000), like pinbench's CUDA version. The first versions list no GPUs; since 0.8 the list has a
 * host name.
 */

const testcaseSchema = z.object({
  name: z.string(),
  /** "Passed", "Waived", "Running" (did not finish), "Error", or "ERROR" for an unknown name. */
  status: z.string(),
  error: z.string().optional(),
  /** Checked only when used, for tests that have a cell. */
  bandwidth_matrix: z.unknown().optional(),
});

const nvbandwidthSchema = z.object({
  version: z.string().optional(),
  "CUDA Runtime Version": z.number().int().positive().optional(),
  "Driver Version": z.string().optional(),
  "GPU Device list": z.array(z.string()).nullish(),
  error: z.string().optional(),
  /** The last warning; a list for several nodes. */
  warning: z.union([z.string(), z.array(z.string())]).optional(),
  testcases: z.array(testcaseSchema).optional(),
});

type NvbandwidthResult = z.infer<typeof nvbandwidthSchema>;
type NvbandwidthTestcase = z.infer<typeof testcaseSchema>;

const saveHint = "Give a file that `nvbandwidth -j > FILE.json` wrote; newer versions say --format json.";

export interface NvbandwidthFile {
  /** Without its "v", such as "0.8"; null if not recorded. */
  version: string | null;
  driverVersion: string | null;
  /** Such as "13.0"; null if not recorded. */
  cudaVersion: string | null;
  /** Empty if the file lists no GPUs, or not in the form "0: NVIDIA H200 (00000000:00:06)". */
  devices: DeviceRecord[];
  /** The host of all listed GPUs, recorded since 0.8; null if unknown or if there are several. */
  hostname: string | null;
  /** Number of columns in the widest matrix. */
  gpuCount: number;
  figures: NvbandwidthFigure[];
  leftOut: LeftOut[];
  bufferSizeBytes: number;
  /** Whether the size is nvbandwidth's default, because neither the file nor the user gives it. */
  isBufferSizeAssumed: boolean;
}

/**
 * Parses nvbandwidth's JSON. Messages call it `name`; `requestedBytes` is its -b, null for the default. Throws a
 * PinbenchError (usage) for an unusable text.
 */
export function readNvbandwidth(text: string, name: string, requestedBytes: number | null): NvbandwidthFile {
  const result = parseNvbandwidth(text, name);
  const version = result.version?.replace(/^v(?=\d)/, "") || null;
  const cuda = result["CUDA Runtime Version"];
  const entries = result["GPU Device list"] ?? [];
  const devices = entries.map(deviceOf);
  const [hostname, ...otherHosts] = new Set(entries.map((entry) => hostOf.exec(entry)?.[1] ?? null));
  return {
    version,
    driverVersion: result["Driver Version"] ?? null,
    cudaVersion: cuda === undefined ? null : cudaVersionName(cuda),
    devices: devices.every((device) => device !== null) ? devices : [],
    hostname: otherHosts.length === 0 ? (hostname ?? null) : null,
    ...readFigures(result, name),
    ...bufferSizeOf(result, version, requestedBytes, name),
  };
}

/** nvbandwidth's message on wrong data (memcpy.cpp and kernels.cu), in or before its JSON. */
const wrongDataMessage = /invalid value when checking the pattern/i;

function checkBeginning(text: string, name: string): void {
  const start = /^\s*\{/m.exec(text)?.index;
  const before = text.slice(0, start).trim();
  if (wrongDataMessage.test(before)) throw wrongData(name);
  if (start === undefined || before === "") return;
  throw unusable(
    name,
    "has text of another program before its JSON",
    "Delete these lines; mpirun and drivers print such warnings. Or run nvbandwidth again with 2>/dev/null.",
  );
}

function wrongData(name: string): PinbenchError {
  return new PinbenchError(
    "wrongData",
    `${name} records that nvbandwidth's copies came back with wrong data.`,
    {
      hint: "Take the node out of use, and look at its GPU, memory and link.",
    },
  );
}

function parseNvbandwidth(text: string, name: string): NvbandwidthResult {
  checkBeginning(text, name);
  const value = parseJson(text, name, saveHint);
  if (isObject(value) && "schemaVersion" in value) {
    throw unusable(name, "is a pinbench result already: it needs no import", "Use it as it is.");
  }
  if (!isObject(value) || !isObject(value.nvbandwidth)) {
    throw unusable(name, 'is JSON, but not a result of nvbandwidth: it has no "nvbandwidth" object');
  }
  const parsed = nvbandwidthSchema.safeParse(value.nvbandwidth);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = ["nvbandwidth", ...(issue?.path ?? [])].map(String).join(".");
    throw unusable(name, `is not a valid result of nvbandwidth at ${where}: ${issue?.message ?? "invalid"}`);
  }
  if (wrongDataMessage.test(parsed.data.error ?? "")) throw wrongData(name);
  if (parsed.data.error !== undefined) {
    const reason = oneLine(parsed.data.error);
    throw unusable(name, `records that nvbandwidth failed: ${reason}`, "Run nvbandwidth again.");
  }
  return parsed.data;
}

export interface NvbandwidthFigure {
  direction: DirectionMoved;
  memory: "pinned" | "device";
  /** The column of the matrix: CUDA's ordinal. */
  device: number;
  /** The printed rate in GB/s. Within a device, a byte that is read and written counts once. */
  publishedGBps: number;
}

interface LeftOut {
  what: string;
  reason: string;
}

/**
 * Tests with an equivalent cell. They block a stream with a kernel and enqueue warm-up copies, an event, repeated
 * cuMemcpyAsync between two buffers, and an event; then they release the stream (memcpy.cpp, doMemcpyCore). Host memory
 * is from cuMemHostAlloc. That is a warm cell with one worker.
 */
const counterparts: ReadonlyMap<string, Pick<NvbandwidthFigure, "direction" | "memory">> = new Map([
  ["host_to_device_memcpy_ce", { direction: "h2d", memory: "pinned" }],
  ["device_to_host_memcpy_ce", { direction: "d2h", memory: "pinned" }],
  ["device_local_copy", { direction: "d2d", memory: "device" }],
]);

function readFigures(
  { testcases = [] }: NvbandwidthResult,
  name: string,
): Pick<NvbandwidthFile, "figures" | "leftOut" | "gpuCount"> {
  const figures: NvbandwidthFigure[] = [];
  const leftOut: LeftOut[] = [];
  // A failed test occurs twice: as started, and with its error.
  const failed = testcases.filter(
    ({ name: test, status }) => counterparts.has(test) && status !== "Passed" && status !== "Waived",
  );
  const first = failed.find(({ status }) => status !== "Running") ?? failed[0];
  if (first !== undefined) throw failure(first, name);

  const seen = new Set<string>();
  let gpuCount = 0;
  for (const testcase of testcases) {
    const { name: test, status } = testcase;
    const counterpart = counterparts.get(test);
    if (counterpart === undefined) {
      leftOut.push({ what: test, reason: "pinbench has no such cell" });
    } else if (status !== "Passed") {
      leftOut.push({ what: test, reason: `it was not run (${status})` });
    } else {
      if (seen.has(test)) throw unusable(name, `has ${test} twice`, "Run each test once.");
      seen.add(test);
      const row = readRow(testcase, name);
      gpuCount = Math.max(gpuCount, row.length);
      row.forEach((publishedGBps, device) => {
        if (publishedGBps !== null) figures.push({ ...counterpart, device, publishedGBps });
        else leftOut.push({ what: `${test} of GPU ${device}`, reason: "it was not run (N/A)" });
      });
    }
  }
  if (figures.length === 0) {
    const hint = "Run nvbandwidth -j -t host_to_device_memcpy_ce device_to_host_memcpy_ce.";
    throw unusable(name, "has no figure to import", hint);
  }
  const leftOutOnce = [...new Map(leftOut.map((one) => [one.what, one])).values()];
  return { figures, leftOut: leftOutOnce, gpuCount };
}

function failure({ name: test, status, error }: NvbandwidthTestcase, name: string) {
  if (wrongDataMessage.test(error ?? "")) return wrongData(name);
  const reason = error === undefined ? "" : `: ${oneLine(error)}`;
  const hint = "Run nvbandwidth again; a test that fails says why without -j.";
  return unusable(
    name,
    `records that ${test} did not succeed (status ${JSON.stringify(status)})${reason}`,
    hint,
  );
}

/** One row for the host, a column per GPU. Null for "N/A". */
function readRow({ name: test, bandwidth_matrix: matrix }: NvbandwidthTestcase, name: string) {
  const rows: unknown[] = Array.isArray(matrix) ? matrix : [];
  const [row] = rows;
  if (rows.length !== 1 || !Array.isArray(row)) {
    throw unusable(name, `has no bandwidth_matrix of one row for ${test}`);
  }
  return row.map((cell: unknown, device) => {
    const text = typeof cell === "string" || typeof cell === "number" ? String(cell).trim() : "";
    if (text === "N/A") return null;
    const isNumber = /^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);
    const rate = isNumber ? Number(text) : Number.NaN;
    if (rate >= leastFigure && rate <= mostFigure / 2) return rate;
    throw unusable(name, `has no rate in GB/s for ${test} of GPU ${device}`);
  });
}

/**
 * Size of the buffers, which no version records: `requestedBytes`, or else the default of 64 MiB up to 0.6 and 512 MiB
 * from 0.7 on (common.h, release notes of 0.7). Throws a usage error if a warning contradicts the default.
 */
function bufferSizeOf(
  { warning = [] }: NvbandwidthResult,
  version: string | null,
  requestedBytes: number | null,
  name: string,
): Pick<NvbandwidthFile, "bufferSizeBytes" | "isBufferSizeAssumed"> {
  if (requestedBytes !== null) return { bufferSizeBytes: requestedBytes, isBufferSizeAssumed: false };
  if ([warning].flat().some((text) => /smaller than the default buffer size/i.test(text))) {
    const hint = "Give its -b, as in --buffer-size 32MiB.";
    throw unusable(name, "warns of a buffer smaller than the default, but not of what size", hint);
  }
  const isOld = /^0\.[0-6]\b/.test(version ?? "");
  return { bufferSizeBytes: (isOld ? 64 : 512) * MiB, isBufferSizeAssumed: true };
}

const hostOf = /: \(([^()\s]+)\)$/;

/** A GPU of the list, such as "0: NVIDIA H200 (00000000:00:06): (node-1)"; null for an entry of another form. */
function deviceOf(entry: string): DeviceRecord | null {
  const match =
    /^(\d{1,4}): (.+?)(?: \(([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\))?(?:: \([^()]*\))?$/i.exec(entry);
  if (match === null) return null;
  const [, ordinal, name, domain, bus, slot] = match;
  return {
    ordinal: Number(ordinal),
    // Both tools use cuDeviceGetName.
    name: name!,
    uuid: null,
    // Without the function, which nvbandwidth does not record. Its domain has eight digits, CUDA's has four.
    pciBusId:
      domain === undefined ? null : `${domain.replace(/^0{1,4}(?=.{4})/, "")}:${bus}:${slot}`.toLowerCase(),
    totalMemoryBytes: null,
    computeCapability: null,
    multiprocessors: null,
    l2CacheBytes: null,
    copyEngines: null,
    numaNode: null,
    upstreamPath: null,
    link: null,
    linkLimitGBps: null,
  };
}

function unusable(name: string, what: string, hint = saveHint): PinbenchError {
  return new PinbenchError("usage", `${name} ${what.replace(/\.$/, "")}.`, { hint });
}

/** Another program's text, as a part of a sentence: on one line and not too long. */
function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= 200 ? line : `${line.slice(0, 200)}…`;
}
