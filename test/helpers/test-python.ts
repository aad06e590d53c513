import { beforeEach, inject } from "vitest";

/** The tests' Python, chosen by optional-programs.ts. */
export const testPython = inject("testPython");

/**
 * Replaces testPython in tests that are not about Python's start: torch is already imported. Signals, streams and the
 * end are those of the process that runs the program; only its process group differs.
 */
export const warmPython = inject("warmPython");

/** Why tests that need torch are skipped; null if they run. */
export const torchMissing = inject("torchMissing");

/** Skips the tests of the calling file or `describe` if testPython has no torch. */
export function skipWithoutTorch(): void {
  beforeEach(({ skip }) => skip(torchMissing !== null, torchMissing ?? undefined));
}
