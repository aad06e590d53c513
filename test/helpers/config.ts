import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { temporaryFolder } from "./run-cli.js";

/** The place of a configuration. */
export const configFile = "pinbench.config.json";

/** Writes files, whose names may contain folders, into a folder of this test's own. */
export function folderOf(files: Record<string, unknown>): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

/** The message and the hint that a usage error would print. */
export async function refusalOf(loading: Promise<unknown>): Promise<string> {
  const error = await loading.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof PinbenchError)) throw error ?? new Error("it was accepted");
  expect(error.kind).toBe("usage");
  return `${error.message} ${error.hint ?? ""}`.trim();
}
