import { roundDown } from "../draw/numbers.js";
import { printableDocument } from "../draw/printable-text.js";
import {
  type Column,
  type Fact,
  type Figure,
  figure,
  type Grid,
  note,
  numberColumn,
  wordColumn,
} from "../draw/report.js";
import type { Screen } from "../draw/screen.js";
import { alertLines } from "../draw/terminal/draw-terminal.js";
import { indent, terminalGrid } from "../draw/terminal/terminal-grid.js";
import { factLines, joinBlocks, paragraph } from "../draw/terminal/terminal-text.js";
import { counted } from "../draw/words.js";
import type { BuildInfo } from "../native/device-contract.js";
import { countedCpus, guestOf, pcieLink } from "../results/naming/wording.js";
import type { HostRecord } from "../results/schema.js";
import { formatSizeRounded } from "../settings/units.js";
import type { DeviceEntry, DevicesReport, Feature } from "./describe-devices.js";
import { describeSharedUpstreams } from "./shared-topology.js";

export function devicesReport(found: DevicesReport, screen: Screen): string {
  const report = printableDocument(found);
  return joinBlocks([
    alertLines(report.notice === null ? [] : [note(report.notice, "warning")], screen),
    terminalGrid(deviceGrid(report.devices), screen),
    factLines(reportFacts(report), indent, screen),
    featureLines(report.features, screen),
  ]);
}

const deviceColumns: readonly Column[] = [
  numberColumn("device"),
  wordColumn("name"),
  wordColumn("PCI bus id"),
  numberColumn("memory"),
  numberColumn("NUMA"),
  wordColumn("link now"),
  wordColumn("at most"),
];

function deviceGrid(devices: readonly DeviceEntry[]): Grid {
  const rows = devices.map((device): Figure[] => [
    figure(String(device.ordinal)),
    figure(device.name),
    figure(device.pciBusId),
    figure(formatSizeRounded(device.totalMemoryBytes)),
    figure(device.numaNode === null ? "-" : String(device.numaNode)),
    figure(linkNow(device)),
    figure(describeLink(device.link?.maxGeneration ?? null, device.link?.maxWidth ?? null)),
  ]);
  return { columns: deviceColumns, rows, labels: 2 };
}

function linkNow({ link, linkLimitGBps }: DeviceEntry): string {
  const name = describeLink(link?.generation ?? null, link?.width ?? null);
  return linkLimitGBps === null ? name : `${name}, ${roundDown(linkLimitGBps, 1)} GB/s`;
}

function describeLink(generation: number | null, width: number | null): string {
  return generation === null || width === null ? "-" : pcieLink(generation, width);
}

function reportFacts({ devices, driver, host, build }: DevicesReport): Fact[] {
  const shared: Fact[] =
    devices.length > 1 ? [["Shared", describeSharedUpstreams(devices, host.virtualization)]] : [];
  return [
    ...shared,
    ["Driver", driverOf(driver)],
    ["Build", `pinbench ${build.version}, ${buildOf(build)}`],
    ["CPU", cpuOf(host)],
    ["Memory", memoryOf(host)],
    ["Memlock", memlockOf(host)],
    ["Huge pages", `transparent: ${host.transparentHugePages ?? "not known"}`],
    ["System", systemOf(host)],
  ];
}

function driverOf({ library, version, cudaVersion }: DevicesReport["driver"]): string {
  return `${version ?? "version not known"}, CUDA ${cudaVersion}, from ${library}`;
}

function buildOf({ compiler, sanitizer }: BuildInfo): string {
  return sanitizer === null ? compiler : `${compiler}, ${sanitizer} sanitizer`;
}

function cpuOf({ cpuModel, cpusAllowed, cpuQuota, numaNodes, lastLevelCacheBytes }: HostRecord): string {
  const cache = `last-level cache ${formatSizeRounded(lastLevelCacheBytes)}`;
  return `${cpuModel}, ${countedCpus(cpusAllowed.length, cpuQuota)}, ${counted(numaNodes, "NUMA node")}, ${cache}`;
}

function memoryOf({ memoryTotalBytes, memoryAvailableBytes, cgroupMemoryLimitBytes }: HostRecord): string {
  const limit =
    cgroupMemoryLimitBytes === null
      ? "no cgroup limit"
      : `cgroup limit ${formatSizeRounded(cgroupMemoryLimitBytes)}`;
  return `${formatSizeRounded(memoryTotalBytes)}, ${formatSizeRounded(memoryAvailableBytes)} available, ${limit}`;
}

function memlockOf({ memlockLimitBytes }: HostRecord): string {
  const limit = memlockLimitBytes === null ? "unlimited" : formatSizeRounded(memlockLimitBytes);
  return `${limit} (NVIDIA's driver does not charge pinned pages to it)`;
}

function systemOf(host: HostRecord): string {
  return [`Linux ${host.kernel}`, `CPU governor ${host.governor ?? "not known"}`, ...guestOf(host)].join(
    ", ",
  );
}

function featureLines(features: readonly Feature[], screen: Screen): string[] {
  const { chalk } = screen;
  const nameWidth = Math.max(0, ...features.map(({ name }) => name.length));
  return features.flatMap(({ name, on, reason }) => {
    const state = on ? "on " : "off";
    const prefix = `${indent}${state}  ${name.padEnd(nameWidth)}`;
    const lines = reason === null ? [prefix.trimEnd()] : paragraph(reason, screen, { prefix: `${prefix}  ` });
    const end = indent.length + state.length;
    return lines.map((line, index) =>
      index > 0 ? line : indent + (on ? chalk.green : chalk.yellow)(state) + line.slice(end),
    );
  });
}
