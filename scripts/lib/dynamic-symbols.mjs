import { readFileSync } from "node:fs";
import { archOf, toolFor } from "./platforms.mjs";
import { run } from "./process.mjs";

/** Compares versions such as "2.9" and "2.28" by their numbers. */
export function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  for (let i = 0; i < Math.max(left.length, right.length); ++i) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The newest glibc version that any of these files needs, which is the oldest that can run them all. */
export function neededGlibc(files) {
  const versions = files.flatMap((file) =>
    [...readFileSync(file, "latin1").matchAll(/GLIBC_(2(?:\.\d+)+)/g)].map(([, version]) => version),
  );
  return versions.sort(compareVersions).at(-1) ?? "2.0";
}

/**
 * Parses `objdump -T`, with lines such as "0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.2.5) memcpy".
 * Returns a file's exports and imports with their versions, without local symbols, which arm64 has for sections.
 */
export function parseDynamicSymbols(text) {
  const symbols = [];
  for (const line of text.split("\n")) {
    const match = /^[0-9a-f]{16} [^l].{6} (\S+)\t[0-9a-f]{16}\s+(?:\(?([\w.]+)\)?\s+)?(?:\.\w+ )?(\S+)$/.exec(
      line,
    );
    if (match === null) continue;
    const [, section, version = null, name] = match;
    symbols.push({ name, version: version === "Base" ? null : version, isExported: section !== "*UND*" });
  }
  return symbols;
}

/** Every architecture needs its own objdump. */
const objdump = (flag, file) => run(toolFor(archOf(file), "objdump"), [flag, file], { capture: true });

export async function dynamicSymbols(file) {
  return parseDynamicSymbols(await objdump("-T", file));
}

/** The shared libraries that a file needs, such as "libstdc++.so.6". */
export async function neededLibraries(file) {
  const text = await objdump("-p", file);
  return [...text.matchAll(/^ {2}NEEDED +(\S+)$/gm)].map(([, name]) => name);
}
