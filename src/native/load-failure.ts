import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { PinbenchError } from "../errors.js";
import { shortageHint } from "../machine-shortage.js";
import { type AddonCandidate, longestLoadMs, type ProbeOutcome } from "./probe.js";

/** Why a module cannot be loaded; `kind` determines the advice. */
export interface LoadFailure {
  kind:
    | "missing"
    | "unreadable"
    | "damaged"
    | "architecture"
    | "glibc"
    | "musl"
    | "dependency"
    | "noexec"
    | "permission"
    | "cpu"
    | "crash"
    | "foreign"
    | "other";
  /** A clause without a full stop, such as "there is no such file". */
  reason: string;
}

export interface FailedCandidate extends AddonCandidate {
  failure: LoadFailure;
}

/** Node's names of architectures, by e_machine of an ELF header. */
const machines: Readonly<Record<number, string>> = { 62: "x64", 183: "arm64" };

/**
 * A fault in a library's header; null without one. The system's linker describes such faults badly, and a truncated
 * file can crash it.
 */
export function inspectBinary(path: string): LoadFailure | null {
  let size: number;
  const header = Buffer.alloc(64);
  try {
    const info = statSync(path);
    // Opening a named pipe could block forever.
    if (!info.isFile()) return { kind: "unreadable", reason: "it is not a regular file" };
    size = info.size;
    const file = openSync(path, "r");
    try {
      readSync(file, header, 0, header.length, 0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing", reason: "there is no such file" };
    return { kind: "unreadable", reason: `it cannot be read (${code ?? message})` };
  }
  if (size === 0) return { kind: "damaged", reason: "it is empty" };
  if (header.toString("latin1", 0, 4) !== "\x7fELF")
    return { kind: "damaged", reason: "it is not an ELF file" };
  // 64 bits, little-endian: the offsets below need both.
  if (header[4] !== 2 || header[5] !== 1) {
    return { kind: "architecture", reason: `it is not for ${process.arch}` };
  }
  const machine = header.readUInt16LE(18);
  if (machines[machine] !== process.arch) {
    const name = machines[machine] ?? `machine ${machine}`;
    return { kind: "architecture", reason: `it is for ${name}, and this Node is for ${process.arch}` };
  }
  // The section table is at the end of the file.
  const end = Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60);
  if (end > size) return { kind: "damaged", reason: `it is cut short: ${size} of ${end} bytes` };
  return null;
}

interface LoadRefusal {
  pattern: RegExp;
  kind: LoadFailure["kind"];
  /** `found` is what the pattern's group matched. */
  reason: (found: string, glibc: string | null) => string;
}

/** Messages of glibc's linker; the first matching pattern counts. */
const refusals: readonly LoadRefusal[] = [
  {
    // The linker names only the first GLIBC version that is missing.
    pattern: /version [`']GLIBC_([\d.]+)' not found/,
    kind: "glibc",
    reason: (version, glibc) =>
      `it needs glibc ${version} or newer${glibc === null ? "" : `, and this system has ${glibc}`}`,
  },
  {
    pattern: /version [`']((?:GLIBCXX|CXXABI|GCC)_[\d.]+)' not found/,
    kind: "dependency",
    reason: (name) => `it needs a newer C++ runtime (${name})`,
  },
  {
    pattern: /failed to map segment|Operation not permitted/,
    kind: "noexec",
    reason: () => "nothing may be executed from there (is it mounted noexec?)",
  },
  {
    pattern: /file too short|invalid ELF header|file truncated|ELF load command/,
    kind: "damaged",
    reason: () => "it is damaged",
  },
  {
    pattern: /(\S+): cannot open shared object file: No such file/,
    kind: "dependency",
    reason: (library) => `it needs ${library}, which is not there`,
  },
  {
    pattern: /loading addons is disabled/,
    kind: "permission",
    reason: () => "Node's permission model forbids it",
  },
  { pattern: /Permission denied/, kind: "unreadable", reason: () => "it may not be read" },
];

/** Why a module did not load in a test process, for people; `glibc` is from systemGlibc(). */
export function explainFailure(
  outcome: Exclude<ProbeOutcome, { kind: "loads" | "untried" }>,
  glibc: string | null,
): LoadFailure {
  switch (outcome.kind) {
    case "refused":
      return explainRefusal(outcome.message, glibc);
    case "foreign":
      return { kind: "foreign", reason: "it is a compiled module, but not pinbench's" };
    case "crashed":
      return outcome.signal === "SIGILL"
        ? { kind: "cpu", reason: "it has instructions that this CPU lacks (SIGILL)" }
        : { kind: "crash", reason: `loading it crashes the process (${outcome.signal})` };
    case "ended":
      return { kind: "crash", reason: `loading it ends the process with exit code ${outcome.exitCode}` };
    case "hung":
      return { kind: "crash", reason: `loading it did not end within ${longestLoadMs / 1000} s` };
  }
}

function explainRefusal(message: string, glibc: string | null): LoadFailure {
  for (const { pattern, kind, reason } of refusals) {
    const match = pattern.exec(message);
    if (match !== null) return { kind, reason: reason(match[1] ?? "", glibc) };
  }
  if (glibc === null) {
    return { kind: "musl", reason: "it is for glibc, and this system has another C library (musl)" };
  }
  const line = message.trim().replace(/\.$/, "");
  return { kind: "other", reason: line.replaceAll(/\s+/g, " ") };
}

/** One line on a module that is not used: `prebuilt /path: it is empty`. */
export function describeFailed({ source, path, failure }: FailedCandidate): string {
  return `${source} ${path}: ${failure.reason}`;
}

/**
 * The error if no module loads: each attempt with its reason, and what to do. `glibc` is the system's version, null for
 * another C library.
 */
export function nothingLoads(failed: readonly FailedCandidate[], glibc: string | null): PinbenchError {
  const library = glibc === null ? "no glibc" : `glibc ${glibc}`;
  const system = `linux-${process.arch}, ${library}, Node ${process.version}`;
  const [only] = failed;
  if (only?.source === "PINBENCH_ADDON") {
    const { path, failure } = only;
    const message = `The compiled module ${path} does not load: ${failure.reason} (${system}).`;
    const hint = "Point PINBENCH_ADDON at a pinbench.node that loads here, or unset it.";
    return new PinbenchError("unavailable", message, { hint });
  }
  if (failed.some(({ failure }) => failure.kind === "permission")) {
    const message = "Node's permission model forbids loading the compiled module.";
    return new PinbenchError("unavailable", message, {
      hint: shortageHint("ERR_DLOPEN_DISABLED") ?? undefined,
    });
  }
  return new PinbenchError("unavailable", `The compiled module does not load (${system}). Tried:`, {
    details: failed.map((one) => `${describeFailed(one)}.`),
    hint: remedies(failed).join("\n"),
  });
}

function remedies(failed: readonly FailedCandidate[]): string[] {
  const kinds = new Set(failed.map(({ failure }) => failure.kind));
  const lines = ["What to do:"];
  if (kinds.has("noexec")) lines.push("  - install pinbench on a file system from which programs may be run");
  if (kinds.has("damaged")) lines.push("  - install pinbench again: a file of it is damaged");
  if (kinds.has("musl")) lines.push("  - use a Node for glibc, such as the image node:22-slim");
  return [
    ...lines,
    "  - build it on this machine: git clone pinbench's repository, and npm ci there (needs g++, CMake and make)",
    "  - then run the clone's bin/pinbench.js, or set PINBENCH_ADDON=CLONE/build/Release/pinbench.node",
  ];
}

/**
 * This process' glibc version, such as "2.36"; null for another C library. Takes milliseconds, so only failures and
 * `--version` call it.
 */
export function systemGlibc(): string | null {
  // Keeps the report from resolving host names over the network. @types/node lacks this setting.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime ?? null;
}

/** The newest glibc version that a library names, which is the oldest it loads with; null if it names none. */
export function neededGlibc(path: string): string | null {
  const minors = [...readFileSync(path, "latin1").matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) =>
    Number(minor),
  );
  return minors.length === 0 ? null : `2.${Math.max(...minors)}`;
}
