import type { Defect } from "./inspect-binary.js";
import type { ProbeOutcome } from "./probe.js";
import type { SystemFacts } from "./system-facts.js";

export interface Failure {
  kind: Defect["kind"] | "glibc" | "musl" | "dependency" | "noexec" | "cpu" | "crash" | "foreign" | "other";
  /** A clause without a full stop, such as "there is no such file". */
  reason: string;
}

type Refusal = (message: string, system: SystemFacts) => Failure | null;

/** What the linkers of glibc and musl say, from the particular to the general. */
const refusals: readonly Refusal[] = [
  (message, { glibc }) => {
    // Of a C library that is too old for several versions, the linker names the first alone.
    const version = /version [`']GLIBC_([\d.]+)' not found/.exec(message)?.[1];
    if (version === undefined) return null;
    const here = glibc === null ? "" : `, and this system has ${glibc}`;
    return { kind: "glibc", reason: `it needs glibc ${version} or newer${here}` };
  },
  (message) => {
    const name = /version [`']((?:GLIBCXX|CXXABI|GCC)_[\d.]+)' not found/.exec(message)?.[1];
    return name === undefined
      ? null
      : { kind: "dependency", reason: `it needs a newer C++ runtime (${name})` };
  },
  (message, { glibc }) => {
    const isMusl = /Error (?:loading shared library|relocating)/.test(message);
    const wantsGlibc = /ld-linux-[\w-]+\.so|libc\.so\.6|__\w+_chk: symbol not found/.test(message);
    if (!isMusl && !(glibc === null && wantsGlibc)) return null;
    return { kind: "musl", reason: "it is for glibc, and this system has another C library (musl)" };
  },
  (message) =>
    /failed to map segment|Operation not permitted/.test(message)
      ? { kind: "noexec", reason: "nothing may be executed from there (is it mounted noexec?)" }
      : null,
  (message) =>
    /file too short|invalid ELF header|file truncated|ELF load command/.test(message)
      ? { kind: "damaged", reason: "it is damaged" }
      : null,
  (message) => {
    const library = /(\S+): cannot open shared object file: No such file/.exec(message)?.[1];
    return library === undefined
      ? null
      : { kind: "dependency", reason: `it needs ${library}, which is not there` };
  },
  (message) =>
    /Permission denied/.test(message) ? { kind: "unreadable", reason: "it may not be read" } : null,
];

/** Why a module did not load, in words for people. */
export function explainFailure(
  outcome: Exclude<ProbeOutcome, { kind: "loads" | "untried" }>,
  system: SystemFacts,
): Failure {
  switch (outcome.kind) {
    case "refused": {
      for (const refusal of refusals) {
        const failure = refusal(outcome.message, system);
        if (failure !== null) return failure;
      }
      return {
        kind: "other",
        reason: outcome.message
          .trim()
          .replace(/\.$/, "")
          .replaceAll(/\s*\n\s*/g, " "),
      };
    }
    case "foreign":
      return { kind: "foreign", reason: "it is a compiled module, but not pinbench's" };
    case "crashed":
      return outcome.signal === "SIGILL"
        ? { kind: "cpu", reason: "it has instructions that this CPU lacks (SIGILL)" }
        : { kind: "crash", reason: `loading it crashes the process (${outcome.signal})` };
    case "ended":
      return { kind: "crash", reason: `loading it ends the process with exit code ${outcome.exitCode}` };
    case "hung":
      return { kind: "crash", reason: "loading it did not end within 30 s" };
  }
}
