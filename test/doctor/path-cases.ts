import { rates } from "../helpers/examination.js";
import {
  errorCounts,
  gpuNames,
  pciConfig,
  pciFile,
  rootPort,
  switchDownstream,
  switchUpstream,
} from "../helpers/machine-tree.js";
import { type CauseCase, link, slow } from "./cause-case.js";

const [gpu] = gpuNames;

/** Machines with one fault in the links, ports and bridges between a device and the CPU. */
export const pathCases: readonly CauseCase[] = [
  {
    what: "a link of 4 lanes instead of 16",
    change: {
      health: { link: { ...link, width: 4 } },
      measured: { pinned: rates(13.9, 13.8), nodes: [] },
    },
    cause: "link-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 41.5, basis: "estimated" },
    says: "gen5 x4",
  },
  {
    what: "a switch whose link to the root port has 8 lanes of 16",
    files: {
      [pciFile(rootPort, "current_link_width")]: "8\n",
      [pciFile(switchUpstream, "current_link_width")]: "8\n",
    },
    change: { measured: { pinned: rates(27.8, 27.6), nodes: [] } },
    cause: "link-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 27.4, basis: "estimated" },
    says: `${switchUpstream} to ${rootPort}: gen5 x8 of gen5 x16`,
  },
  {
    what: "narrowed links of a card and of a switch at once",
    files: {
      [pciFile(rootPort, "current_link_width")]: "8\n",
      [pciFile(switchUpstream, "current_link_width")]: "8\n",
      [pciFile(gpu, "current_link_width")]: "4\n",
      [pciFile(switchDownstream, "current_link_width")]: "4\n",
    },
    change: {
      health: { link: { ...link, width: 4 } },
      measured: { pinned: rates(13.9, 13.8), nodes: [] },
    },
    cause: "link-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 41.5, basis: "estimated" },
    says: `${switchUpstream} to ${rootPort}`,
  },
  {
    what: "a slot with 8 lanes for a card with 16",
    files: {
      [pciFile(switchDownstream, "max_link_width")]: "8\n",
      [pciFile(switchDownstream, "current_link_width")]: "8\n",
      [pciFile(gpu, "current_link_width")]: "8\n",
    },
    change: {
      health: { link: { ...link, width: 8, maxWidth: 8 } },
      measured: { pinned: rates(27.8, 27.6), nodes: [] },
      other: { expected: rates(27.7, 27.5) },
    },
    cause: "slot-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 27.4, basis: "estimated" },
    says: "x8",
  },
  {
    what: "a card of generation 5 in a slot of generation 4, as an explanation",
    files: Object.fromEntries(
      [rootPort, switchUpstream, switchDownstream].flatMap((port) => [
        [pciFile(port, "max_link_speed"), "16.0 GT/s PCIe\n"],
        [pciFile(port, "current_link_speed"), "16.0 GT/s PCIe\n"],
      ]),
    ),
    change: {
      health: { link: { ...link, generation: 4, maxGeneration: 4 } },
      measured: { pinned: rates(26.9, 26.5), nodes: [] },
      other: { expected: rates(26.8, 26.6) },
    },
    cause: "slot-narrow",
    weight: "explains",
  },
  {
    what: "packets sent again during copies that keep their full rate",
    change: { before: { replays: 3 }, after: { replays: 4003 } },
    cause: "link-errors",
    weight: "risk",
    says: "4000 packets sent again",
  },
  {
    what: "an uncorrected PCIe error",
    files: { [pciFile(switchDownstream, "aer_dev_fatal")]: errorCounts("FATAL", 1) },
    cause: "link-uncorrected",
    weight: "risk",
    says: switchDownstream,
  },
  {
    what: "PCIe packets of 128 bytes on a path that supports 256, with a lower rate",
    files: { [pciFile(gpu, "config")]: pciConfig({ maxPayload: 128 }) },
    change: { measured: { pinned: rates(51.3, 50.9), nodes: [] } },
    cause: "payload-small",
    weight: "costs",
    // (256 / 280) / (128 / 152) is 1.0857; these copies lost less, so all of their loss is explained.
    cost: { direction: "both", gigabytesPerSecond: 4.1, basis: "estimated" },
    says: "128 of 256 bytes",
  },
  {
    what: "an IOMMU that translates addresses, with a lower rate",
    files: {
      [pciFile(gpu, "iommu_group/type")]: "DMA-FQ\n",
      "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.8.0-45-generic ro intel_iommu=on quiet\n",
    },
    change: { measured: slow },
    cause: "iommu-translates",
    weight: "risk",
    says: "kernel argument: intel_iommu=on",
  },
];
