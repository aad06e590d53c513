import { PinbenchError } from "../errors.js";
import type { Candidate } from "./candidates.js";
import type { Failure } from "./explain-failure.js";

/** A module that was tried, and why it is not used. */
export interface FailedCandidate extends Candidate {
  failure: Failure;
}

/** How a candidate that is passed over, or none, is named: `prebuilt /path: it is empty`. */
export function describeFailed({ source, path, failure }: FailedCandidate): string {
  return `${source} ${path}: ${failure.reason}`;
}

/** The one error for a machine on which no module loads: what was tried, why each failed, and what to do. */
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
  const tried = failed.map((one) => `\n  ${describeFailed(one)}.`).join("");
  return new PinbenchError("unavailable", `The compiled module does not load (${system}). Tried:${tried}`, {
    hint: remedies(failed).join("\n"),
  });
}

function remedies(failed: readonly FailedCandidate[]): string[] {
  const kinds = new Set(failed.map(({ failure }) => failure.kind));
  const lines = ["What to do:"];
  if (kinds.has("noexec")) lines.push("  - install pinbench on a file system from which programs may be run");
  if (kinds.has("damaged")) lines.push("  - install pinbench again: a file of it is damaged");
  lines.push(
    kinds.has("musl")
      ? "  - use a Node for glibc (such as the image node:22-slim), or try `pinbench build` (apk add g++ cmake make)"
      : "  - compile it on this machine: `pinbench build` (needs a C++20 compiler, CMake and make)",
    "  - or name a module that was compiled for it: PINBENCH_ADDON=/path/to/pinbench.node",
  );
  return lines;
}
