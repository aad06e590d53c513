import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { drawDocument } from "../draw/document-kind.js";
import { fileScreen } from "../draw/screen.js";
import { listNames, readBytes } from "../host/files.js";
import { sysfsPciName, upstreamPath } from "../host/topology.js";
import type { Diagnosis } from "./diagnosis.js";
import { diagnosisKind } from "./diagnosis-report.js";
import { readDriverLog } from "./facts/xid-log.js";

/*
 * The archive that a vendor asks for: the diagnosis, its files of /proc and /sys, and the log lines of the driver and
 * the PCIe ports.
 */

/** One file of the archive. */
interface BundledFile {
  name: string;
  contents: Buffer;
}

/** Limit for a file of /proc or /sys, or a program's output. */
const mostBytes = 256 * 1024;

const machineFiles = [
  ...["proc/cmdline", "proc/cpuinfo", "proc/meminfo", "proc/version", "proc/self/status", "proc/self/limits"],
  ...["proc/driver/nvidia/version", "proc/driver/nvidia/params", "sys/devices/system/node/online"],
  ...["sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "sys/kernel/mm/transparent_hugepage/enabled"],
];

const portFiles = [
  ...["current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "numa_node", "config"],
  ...["resource", "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal", "iommu_group/type"],
];

/** Private content of a bundle, named whenever one is made. */
export const privateParts =
  "the host's name, labels, GPU UUIDs and PCI addresses, the kernel's command line, and names and ids of other programs";

/**
 * The archive (.tar.gz) of a diagnosis and of facts on the machine with the root folder `root`. Unreadable files are
 * left out.
 */
export async function bundleOf(diagnosis: Diagnosis, root: string): Promise<Buffer> {
  const files = await filesOf(diagnosis, root);
  const readme = [
    `pinbench doctor ${diagnosis.tool.version}, ${diagnosis.createdAt}: ${diagnosis.reason}`,
    "",
    `It contains private data: ${privateParts}. Read it before you pass it on.`,
    "It contains no user data, no job files and no environment variables.",
    "",
    ...files.map(({ name, contents }) => `${name} (${contents.length} bytes)`),
  ];
  return promisify(gzip)(tarOf([textFile("README.txt", readme.join("\n")), ...files], diagnosis.createdAt));
}

async function filesOf(diagnosis: Diagnosis, root: string): Promise<BundledFile[]> {
  const show = { screen: fileScreen() };
  const drawn = (format: "json" | "table") => drawDocument(diagnosisKind, diagnosis, format, show);
  const log = readDriverLog(root);
  const smi = diagnosis.backend === "cuda" ? await whatSays("nvidia-smi", ["-q"]) : null;
  return [
    textFile("diagnosis.json", drawn("json")),
    textFile("diagnosis.txt", drawn("table")),
    ...pathsOf(diagnosis, root).flatMap((path) => {
      const contents = readBytes(root, path, mostBytes);
      return contents === null ? [] : [{ name: `facts/${path}`, contents: Buffer.from(contents) }];
    }),
    ...(log === null ? [] : [textFile("logs/kernel.txt", log.join("\n"))]),
    ...(smi === null ? [] : [textFile("logs/nvidia-smi.txt", smi)]),
  ];
}

function pathsOf({ devices }: Diagnosis, root: string): string[] {
  const ports = new Set(
    devices.flatMap(({ pciBusId }) => {
      const name = pciBusId === null ? null : sysfsPciName(pciBusId);
      return name === null ? [] : [name, ...(upstreamPath(pciBusId!, root) ?? []).slice(1)];
    }),
  );
  return [
    ...machineFiles,
    ...listNames(root, "proc/driver/nvidia/gpus").map((gpu) => `proc/driver/nvidia/gpus/${gpu}/information`),
    ...[...ports].flatMap((port) => portFiles.map((file) => `sys/bus/pci/devices/${port}/${file}`)),
  ];
}

function textFile(name: string, text: string): BundledFile {
  return { name, contents: Buffer.from(text.endsWith("\n") ? text : `${text}\n`) };
}

/** The output of a program within 10 s; null if it is missing or fails. */
async function whatSays(program: string, args: readonly string[]): Promise<string | null> {
  const options = { timeout: 10_000, maxBuffer: 16 * mostBytes, killSignal: "SIGKILL" } as const;
  return promisify(execFile)(program, args, options).then(
    ({ stdout }) => stdout,
    () => null,
  );
}

const blockBytes = 512;

/** An archive in the ustar format of POSIX.1-1988: a header block for each file, then its bytes, padded with zeros. */
export function tarOf(files: readonly BundledFile[], createdAt: string): Buffer {
  const blocks = files.flatMap(({ name, contents }) => {
    const rest = (blockBytes - (contents.length % blockBytes)) % blockBytes;
    return [headerOf(name, contents.length, Date.parse(createdAt)), contents, Buffer.alloc(rest)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

/** A name of more than 100 bytes is split at a slash; the first part is the prefix. */
function headerOf(name: string, bytes: number, modifiedMs: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  const path = `pinbench-bundle/${name}`;
  const cut = path.length <= 100 ? -1 : path.indexOf("/", path.length - 101);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(path.slice(cut + 1), 0, 100);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(bytes, 11), 124);
  header.write(octal(Math.floor(modifiedMs / 1000), 11), 136);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  if (cut > 0) header.write(path.slice(0, cut), 345, 155);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
