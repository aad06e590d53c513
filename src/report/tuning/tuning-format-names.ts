/** Values of `pinbench tune --format`. */
export const tuningFormats = ["table", "json", "python", "env"] as const;

export type TuningFormat = (typeof tuningFormats)[number];
