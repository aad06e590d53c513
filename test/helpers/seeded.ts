/** Random numbers that are the same in every run: uniform ones (mulberry32), and choices and normal ones from them. */
export function seeded(seed: number) {
  let state = seed;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const oneOf = <Value>(values: readonly Value[]) => values[Math.floor(uniform() * values.length)] as Value;
  const pick = <Value>(...values: readonly Value[]) => oneOf(values);
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const normals = (count: number) => Array.from({ length: count }, normal);
  const chiSquare = (degreesOfFreedom: number) =>
    normals(degreesOfFreedom).reduce((sum, z) => sum + z * z, 0);
  return { uniform, oneOf, pick, normal, normals, chiSquare };
}
