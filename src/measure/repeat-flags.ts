import type { RepeatSettings } from "../results/repeat-settings.js";

/** The flags of `pinbench run` that measure as `settings` say, whatever this machine's defaults are. */
export function repeatFlags(settings: RepeatSettings): string[] {
  const { staging } = settings;
  return [
    ["--backend", settings.backend],
    ["--precision", decimal(settings.precision)],
    ["--budget", `${Math.round(settings.budgetNs)}ns`],
    settings.samplesPerCell === null ? [] : ["--samples", `${settings.samplesPerCell}`],
    ["--staging-chunk", `${staging.chunkBytes}B`],
    ["--staging-slots", `${staging.slots}`],
    settings.verify ? "--verify" : "--no-verify",
    ["--seed", `${settings.seed}`],
    settings.lastLevelCacheBytes === null ? [] : ["--llc", `${settings.lastLevelCacheBytes}B`],
    ["--numa", `${settings.numa}`],
    settings.maxPinnedBytes === null ? [] : ["--max-pinned", `${settings.maxPinnedBytes}B`],
  ].flat();
}

/** All digits of a number, and no exponent, which no flag reads. */
function decimal(value: number): string {
  return value.toLocaleString("en-US", { useGrouping: false, maximumSignificantDigits: 17 });
}
