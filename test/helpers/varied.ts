import { seeded } from "./seeded.js";

/** Varied values that are the same in every run, and texts in which "<a|b>" stands for one of the two. */
export function varied(seed: number) {
  const random = seeded(seed);
  const chosen = (text: string): string => {
    const next = text.replaceAll(/<([^<>]*)>/g, (_, choices: string) => random.one(choices.split("|")));
    return next === text ? text : chosen(next);
  };
  return { ...random, chosen, ofText: <T>(json: string) => JSON.parse(chosen(json)) as T };
}

/** The first `count` numbers, from 0 on. */
export const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
