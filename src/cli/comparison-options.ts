import { type Command, Option } from "commander";
import { defaultSignificance, type Rule } from "../compare/rule.js";
import { PinbenchError } from "../errors.js";
import { type ComparisonFormat, comparisonFormats } from "../settings/choices.js";
import { mergeThresholds, parseThresholdFlag, type Thresholds } from "../settings/thresholds.js";
import type { LoadedConfig } from "./config.js";
import { collect } from "./option-values.js";

/** The flags that `compare` and `check` share, parsed. */
export interface ComparisonFlags {
  threshold: Partial<Thresholds>[];
  significance?: number;
  strict?: boolean;
  allowMismatch?: boolean;
  format?: ComparisonFormat;
  json?: boolean;
  output: string[];
  config?: string | false;
  quiet?: boolean;
  color: boolean;
  debug?: boolean;
}

export function addComparisonOptions(command: Command): Command {
  return command
    .option(
      "--threshold <rule>",
      "drop that counts: 5%, pageable=10%, d2h=6% or d0/h2d/*=8% (repeatable)",
      (text: string, previous: Partial<Thresholds>[]) => [...previous, parseThresholdFlag(text)],
      [],
    )
    .option("--significance <level>", "chance of any false alarm (0.003)", parseSignificance)
    .option("--strict", "exit with 6 where a cell is inconclusive or missing")
    .option("--no-strict", "let those pass, whatever the configuration says")
    .option("--allow-mismatch", "compare although GPU or link width differ")
    .addOption(new Option("--format <name>", "what to print").choices(comparisonFormats))
    .option("--json", "short for --format json")
    .option("--output <file>", "also write a file; .json .md .txt .xml (JUnit) (repeatable)", collect, [])
    .option("--config <file>", "read this configuration instead of the nearest pinbench.config.json")
    .option("--no-config", "read no configuration")
    .option("--quiet", "no progress and no notes on stderr")
    .option("--no-color", "no colours")
    .option("--debug", "show where an error came from");
}

/** By what to judge: flags win over the configuration. */
export function ruleOf(flags: ComparisonFlags, config: LoadedConfig): Rule {
  return {
    significance: flags.significance ?? config.significance ?? defaultSignificance,
    thresholds: mergeThresholds(configuredThresholds(flags, config), ...flags.threshold),
    allowMismatch: flags.allowMismatch ?? false,
    strict: flags.strict ?? config.strict ?? false,
  };
}

/** A flag for all cells wins over all that the configuration says of some of them. */
function configuredThresholds(flags: ComparisonFlags, { thresholds }: LoadedConfig): Thresholds {
  const isForAll = flags.threshold.some((part) => part.default !== undefined);
  return isForAll ? { ...thresholds, memory: {}, direction: {}, cells: [] } : thresholds;
}

function parseSignificance(text: string): number {
  const level = Number(text);
  if (text.trim() !== "" && level > 0 && level <= 0.5) return level;
  throw new PinbenchError("usage", `"${text}" is not a significance: that lies above 0 and up to 0.5.`, {
    hint: "Write for example --significance 0.01.",
  });
}
