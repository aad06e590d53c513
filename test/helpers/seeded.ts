/** Random numbers that are the same in every run: uniform ones (mulberry32), and choices and normal ones from them. */
export function seeded(seed: number) {
  let state = seed;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(uniform() * count);
  const one = <Value>(values: readonly Value[]) => values[below(values.length)] as Value;
  const pick = <Value>(...values: readonly Value[]) => one(values);
  /** True in this share of all calls. */
  const is = (share: number) => uniform() < share;
  const some = <Value>(values: readonly Value[], share: number) => values.filter(() => is(share));
  const between = (least: number, most: number) => least + uniform() * (most - least);
  const list = <Value>(count: number, make: (index: number) => Value) =>
    Array.from({ length: count }, (_, index) => make(index));
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const normals = (count: number) => Array.from({ length: count }, normal);
  const chiSquare = (degreesOfFreedom: number) =>
    normals(degreesOfFreedom).reduce((sum, z) => sum + z * z, 0);
  return { uniform, below, one, pick, is, some, between, list, normal, normals, chiSquare };
}

export type Seeded = ReturnType<typeof seeded>;
