import { seeded } from "./seeded.js";

/** Varied values that are the same in every run, and texts in which "<a|b>" stands for one of the two. */
export function varied(seed: number) {
  const { uniform } = seeded(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(uniform() * values.length)]!;
  const chance = (share: number) => uniform() < share;
  const between = (least: number, most: number) => least + uniform() * (most - least);
  const chosen = (text: string): string => {
    const next = text.replaceAll(/<([^<>]*)>/g, (_, choices: string) => pick(choices.split("|")));
    return next === text ? text : chosen(next);
  };
  return { pick, chance, between, chosen, ofText: <T>(json: string) => JSON.parse(chosen(json)) as T };
}

/** The numbers from 0 on, so many. */
export const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
