import { describeSetting } from "../../results/loader-setting.js";
import type { Tuning } from "../../results/tuning.js";
import { formatSizeRounded } from "../../settings/units.js";
import type { Note } from "../report-parts.js";
import { listed } from "../wording.js";

/** What must be known to read the table: failures, what was left out, and doubts. */
export function tuningNotes(tuning: Tuning): Note[] {
  return [
    ...failures(tuning),
    ...skipped(tuning),
    ...rough(tuning),
    ...storage(tuning),
    ...fromProbe(tuning),
  ];
}

function failures({ tried }: Tuning): Note[] {
  const settingsOf = new Map<string, string[]>();
  for (const { setting, trials } of tried) {
    for (const { failure } of trials) {
      if (failure === null) continue;
      const text = `${failure.message}${failure.hint === null ? "" : ` ${failure.hint}`}`;
      settingsOf.set(text, [...(settingsOf.get(text) ?? []), describeSetting(setting)]);
    }
  }
  return [...settingsOf].map(([text, all]) => {
    const settings = [...new Set(all)];
    // Most messages name their setting.
    const isNamed = settings.length === 1 && text.includes(settings[0]!);
    return { text: isNamed ? text : `${listed(settings)}: ${text}`, tone: "failure" };
  });
}

/** Settings with one reason in one note. */
function skipped({ skipped }: Tuning): Note[] {
  const settingsOf = new Map<string, string[]>();
  for (const { setting, reason } of skipped) {
    // The need grows with the workers; the first of them says where it begins.
    const kind = reason.replaceAll(/\d[\d.]*( [KMGT]?i?B\b)?/g, "#");
    settingsOf.set(kind, [...(settingsOf.get(kind) ?? []), `${describeSetting(setting)}: ${reason}`]);
  }
  return [...settingsOf.values()].map((reasons) => ({
    text: `skipped: ${reasons[0]}${reasons.length === 1 ? "" : `; and ${reasons.length - 1} more for the same reason`}`,
    tone: "warning",
  }));
}

function rough({ tried }: Tuning): Note[] {
  if (tried.every(({ score }) => score?.isSettled !== false)) return [];
  return [
    {
      text: "* a rough figure: the trial ended while batches came that were made before the clock started",
      tone: "muted",
    },
  ];
}

/** A share of the batches' bytes from which on storage is part of what was measured; less is Python's own modules. */
const notableShare = 0.05;
const notableBytes = 16 * 2 ** 20;

/** Data that come from storage in the first trials and from the page cache in later ones flatter the later ones. */
function storage({ tried, probe }: Tuning): Note[] {
  const trials = tried.flatMap((one) => one.trials);
  const readBytes = trials.reduce((sum, { storageReadBytes }) => sum + (storageReadBytes ?? 0), 0);
  const batches = trials.reduce((sum, { arrivalsNs }) => sum + arrivalsNs.length, 0);
  if (readBytes <= Math.max(notableBytes, notableShare * batches * probe.batch.bytes)) return [];
  return [
    {
      text: `${formatSizeRounded(readBytes)} came from storage, the rest from the page cache: trials that came later may look faster than a first epoch is. Run it again to compare all of them from the page cache.`,
      tone: "warning",
    },
  ];
}

function fromProbe({ probe }: Tuning): Note[] {
  const off = probe.workersOff === null ? [] : [`no workers were tried: ${probe.workersOff}`];
  return [...off, ...probe.notes].map((text) => ({ text, tone: "muted" }));
}
