import { closeSync, openSync, readSync, statSync } from "node:fs";

/** e_machine of an ELF header, and what Node calls the same. */
const machines: Readonly<Record<number, string>> = {
  3: "ia32",
  21: "ppc64",
  22: "s390x",
  40: "arm",
  62: "x64",
  183: "arm64",
  243: "riscv64",
  258: "loong64",
};

export type Defect = { kind: "missing" | "unreadable" | "damaged" | "architecture"; reason: string };

/**
 * What is wrong with a library that can be told without loading it, which the loader's own words often hide (a file
 * that was cut short can even crash it); null where nothing is.
 */
export function inspectBinary(path: string): Defect | null {
  let size: number;
  const header = Buffer.alloc(64);
  try {
    size = statSync(path).size;
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
  if (header.toString("latin1", 0, 4) !== "\x7fELF") return { kind: "damaged", reason: "it is no ELF file" };
  // 64 bits, little-endian: the offsets below hold for these alone.
  if (header[4] !== 2 || header[5] !== 1) {
    return { kind: "architecture", reason: `it is not for ${process.arch}` };
  }
  const machine = header.readUInt16LE(18);
  if (machines[machine] !== process.arch) {
    const name = machines[machine] ?? `machine ${machine}`;
    return { kind: "architecture", reason: `it is for ${name}, and this Node is for ${process.arch}` };
  }
  // The table of sections is the last thing in the file.
  const end = Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60);
  if (end > size) return { kind: "damaged", reason: `it is cut short: ${size} of ${end} bytes` };
  return null;
}
