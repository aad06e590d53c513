import { errorCode, PinbenchError } from "./errors.js";

/** A resource that the machine lacks, or that a limit or a policy refuses. */
interface Shortage {
  codes: readonly string[];
  /** Matches messages of errors that have no code. */
  words?: RegExp;
  /** A clause without a full stop. */
  describe: () => string;
  hint: string;
}

const shortages: readonly Shortage[] = [
  {
    // Node's permission model (nodejs.org/api/permissions.html).
    codes: ["ERR_ACCESS_DENIED", "ERR_DLOPEN_DISABLED"],
    describe: () => "Node's permission model forbids it",
    hint: "Start node with --allow-addons, --allow-child-process, --allow-fs-read=* and --allow-fs-write=FOLDER, or without --experimental-permission.",
  },
  {
    codes: ["EMFILE"],
    describe: () => `too many open files${limitClause("open_files", "a process may have", "here")}`,
    hint: "Raise the limit with ulimit -n 1024.",
  },
  {
    codes: ["ENFILE"],
    describe: () => "too many files are open on this machine",
    hint: "End other programs, or raise the machine's limit (sysctl fs.file-max).",
  },
  {
    codes: ["EAGAIN", "TOO_MANY_THREADS"],
    describe: () =>
      `the system starts no more processes or threads${limitClause("max_user_processes", "this user may have", "here")}`,
    hint: "Raise the limit of processes (ulimit -u, a container's pids.max) or of address space (ulimit -v), or end other programs.",
  },
  {
    // The driver reports this if the system refuses it a thread, memory or files.
    codes: ["CUDA_ERROR_OPERATING_SYSTEM"],
    describe: () => "the system refused the driver a resource",
    hint: "Raise the limits of processes and threads (ulimit -u, a container's pids.max), of address space (ulimit -v) and of open files (ulimit -n), or end other programs.",
  },
  {
    codes: ["ENOMEM", "ERR_MEMORY_ALLOCATION_FAILED", "ERR_WORKER_OUT_OF_MEMORY", "OUT_OF_HOST_MEMORY"],
    // Messages of V8 (buffers), the dynamic linker (libraries) and C++ (any).
    words:
      /^Array buffer allocation failed|cannot (?:allocate memory|map zero-fill)|failed to map segment|bad_alloc/i,
    describe: () =>
      `memory ran out${limitClause("virtual_memory_bytes", "a process may have", "bytes of address space here")}`,
    hint: "Ask for smaller sizes and fewer workers, end other programs, or raise the limit (ulimit -v).",
  },
];

/**
 * The error for a lack of open files, processes, threads, memory, driver resources or Node permissions; null
 * for any other error. Its kind is "unavailable". `doing` says what failed, such as "cannot read a.json".
 */
export function shortageOf(error: unknown, doing: string | null = null): PinbenchError | null {
  const code = errorCode(error);
  const found = shortages.find(({ codes, words }) =>
    code === null ? error instanceof Error && words?.test(error.message) : codes.includes(code),
  );
  if (found === undefined) return null;
  const reason = `${found.describe()}.`;
  const message = doing === null ? reason : `${doing}: ${reason}`;
  return new PinbenchError("unavailable", message, { hint: found.hint, cause: error });
}

/** A hint for an addon error with this code; null if no resource was lacking. */
export function shortageHint(code: string | null): string | null {
  return shortages.find(({ codes }) => code !== null && codes.includes(code))?.hint ?? null;
}

/** Node 20 calls the last limit virtual_memory_kbytes, although its value is in bytes. */
type LimitName = "open_files" | "max_user_processes" | "virtual_memory_kbytes" | "virtual_memory_bytes";

/** A limit as a clause in parentheses; empty without a limit. Opens no file. */
function limitClause(name: LimitName, before: string, after: string): string {
  // Keeps the report from resolving host names over the network. @types/node lacks this setting.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as {
    userLimits: Partial<Record<LimitName, { soft: number | string }>>;
  };
  const soft = (
    userLimits[name] ?? (name === "virtual_memory_bytes" ? userLimits.virtual_memory_kbytes : undefined)
  )?.soft;
  return typeof soft === "number" ? ` (${before} ${soft} ${after})` : "";
}
