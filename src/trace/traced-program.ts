import { existsSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PinbenchError } from "../errors.js";
import { Child } from "../host/child.js";
import { listNames, readText } from "../host/files.js";
import { makeTemporaryFolder, temporaryFolderHint } from "../host/temporary-folder.js";
import { candidates } from "../native/probe.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { MiB } from "../settings/units.js";
import { fileErrorReason } from "../text-file.js";
import { type PinnedRates, withSavings } from "./pinned-rates.js";
import { processFileSchema, type TracedProcess } from "./trace-document.js";

const injection = "CUDA_INJECTION64_PATH";

/** What to record of the program, and how. */
type TraceOptions = Pick<CommandSettings<"trace">, "skipNs" | "forNs" | "cupti" | "nvtx">;

/** Time after the end of --for by which processes have written their last sums. */
export const lastWriteMs = 2500;

/** A command in whose processes CUDA loads our library. It runs on if pinbench is killed. */
export class TracedProgram {
  private constructor(
    readonly child: Child,
    private readonly folder: string,
  ) {}

  /** Rejects with a PinbenchError if it cannot be started or traced. */
  static async start(command: readonly string[], options: TraceOptions): Promise<TracedProgram> {
    const library = traceLibrary();
    const folder = makeTemporaryFolder();
    const { skipNs, forNs, cupti, nvtx } = options;
    const fromNs = BigInt(Date.now()) * 1_000_000n + BigInt(skipNs);
    const untilNs = forNs === null ? 2n ** 64n - 1n : fromNs + BigInt(forNs);
    try {
      proveRoom(folder);
      const child = await Child.start(command, {
        environment: {
          [injection]: library,
          ...(nvtx && { NVTX_INJECTION64_PATH: library, PINBENCH_TRACE_NVTX: "1" }),
          ...(cupti !== null && { PINBENCH_TRACE_CUPTI: cupti }),
          PINBENCH_TRACE_FROM_NS: String(fromNs),
          PINBENCH_TRACE_UNTIL_NS: String(untilNs),
        },
        mark: ["PINBENCH_TRACE_FOLDER", folder],
        guard: null,
      });
      return new TracedProgram(child, folder);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  processes(rates: PinnedRates | null): TracedProcess[] {
    const files = listNames("/", this.folder).filter((name) => name.endsWith(".json"));
    return files.sort().flatMap((name) => processOf(readText(this.folder, name) ?? "", rates));
  }

  /** Removes the folder; running processes can no longer write. */
  removeFolder(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Throws a PinbenchError if the disk has no room for the sums: without them, no process would seem to use CUDA. */
function proveRoom(folder: string): void {
  const path = join(folder, "room");
  try {
    writeFileSync(path, new Uint8Array(MiB));
    rmSync(path);
  } catch (cause) {
    const reason = fileErrorReason(cause, {});
    const hint = temporaryFolderHint;
    throw new PinbenchError("usage", `no trace can be kept in ${dirname(folder)}: ${reason}.`, {
      hint,
      cause,
    });
  }
}

/** The process in a file; none if a full disk cut the file short. */
function processOf(text: string, rates: PinnedRates | null): TracedProcess[] {
  try {
    const file = processFileSchema.parse(JSON.parse(text));
    return [{ ...file, copies: withSavings(file.copies, rates) }];
  } catch {
    return [];
  }
}

/** The library's path, next to the addon. Throws a PinbenchError if it is missing, or another profiler replaces it. */
function traceLibrary(): string {
  if (process.env[injection]) {
    throw new PinbenchError("usage", `another profiler traces this command: ${injection} is set.`, {
      hint: "Start pinbench trace without it.",
    });
  }
  const paths = candidates(process.env).map(({ path }) => join(dirname(path), "libpinbench_trace.so"));
  const path = paths.find((one) => existsSync(one));
  if (path !== undefined) return path;
  throw new PinbenchError("unavailable", `${paths[0]} does not exist.`, { hint: "In a clone, run npm ci." });
}
