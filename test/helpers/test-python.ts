import { beforeEach, inject } from "vitest";

/** The Python that tests run, as optional-programs.ts has chosen it. */
export const testPython = inject("testPython");

/**
 * Stands in for testPython where what is tested is not how Python starts: torch is there at once. Signals to it, its
 * streams and its end are those of the process that runs the program, but for the process group, which is another one.
 */
export const warmPython = inject("warmPython");

/** Why tests that need torch are skipped; null where they are not. */
export const torchMissing = inject("torchMissing");

/** Skips the tests of the file or the `describe` in which it is called, where testPython has no torch. */
export function skipWithoutTorch(): void {
  beforeEach(({ skip }) => skip(torchMissing !== null, torchMissing ?? undefined));
}
