/** Values of `pinbench tune --format`; on their own, as the command line's help needs them and no report. */
export const tuningFormats = ["table", "json", "python", "env"] as const;

export type TuningFormat = (typeof tuningFormats)[number];
