import { memoryTotalBytes } from "../../host/memory.js";
import { formatDuration, formatSizeRounded } from "../../settings/units.js";
import type { ProbeFacts } from "../probe.js";
import type { LinkSpeed } from "./link.js";
import { fileDescriptors, type NativeProbeOptions } from "./options.js";

/** What the probe knows of itself as soon as it is open; `notes` are those that opening gave rise to. */
export function describeProbe(
  options: NativeProbeOptions,
  { stepNs, link, notes }: { stepNs: number | null; link: LinkSpeed | null; notes: string[] },
): ProbeFacts {
  const { batchSamples, sampleBytes, data, device } = options;
  return {
    kind: "native",
    source: describeSource(options),
    device: device.name,
    runtime: null,
    batch: {
      samples: batchSamples,
      bytes: batchSamples * sampleBytes,
      description: `uint8 [${batchSamples}, ${sampleBytes}]`,
    },
    epochBatches: data === null ? null : Math.ceil(data.files.length / batchSamples),
    startingPoint: null,
    pinningOff: null,
    workersOff: null,
    link,
    stepNs,
    filesPerBatch: 1,
    ...fileDescriptors(),
    notes: [
      "This is a model of a loader, with threads of pinbench for workers: no Python runs, and so no global lock holds them up and no process is started.",
      ...dataNotes(options),
      ...notes,
    ],
  };
}

/** "generated samples of 602112 B, 500 us each", "2000 files of DIR, each read whole". */
function describeSource({ data, sampleBytes, sampleCostNs }: NativeProbeOptions): string {
  const cost = sampleCostNs === 0 ? null : formatDuration(sampleCostNs);
  if (data === null) return `generated samples of ${sampleBytes} B${cost === null ? "" : `, ${cost} each`}`;
  const count = data.files.length;
  const files = count === 1 ? `1 file of ${data.path}` : `${count} files of ${data.path}, each`;
  return `${files} read whole${cost === null ? "" : `, then ${cost} of computing`}`;
}

function dataNotes({ data, sampleBytes, sampleCostNs }: NativeProbeOptions): string[] {
  if (data === null) return [];
  const notes = [
    `Each file becomes a sample of ${sampleBytes} B (the mean file has ${Math.ceil(data.meanBytes)} B).`,
  ];
  if (sampleCostNs === 0) notes.push("Nothing stands for decoding the files: no time for it was given.");
  const total = formatSizeRounded(data.totalBytes);
  notes.push(
    data.totalBytes < memoryTotalBytes()
      ? `The files have ${total}, which memory holds: once they have been read they come from the page cache, as they would from the second epoch on.`
      : `The files have ${total}, more than memory holds: storage delivers them in every epoch.`,
  );
  return notes;
}
