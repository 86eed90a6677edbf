/** A measurement and its target. `bar`: the target, with `≤` or `≥`. `holds`: true if the value reaches the target. */
export type Result = { name: string; value: number; unit: string; bar: string; holds: boolean }

/**
 * A benchmark in `scripts/bench/` or `scripts/bench-web/`. `run` yields each result as soon as it is measured. `isWriting`: whether it
 * also writes its table to `docs/benchmarks.md`, if it has one.
 */
export type Bench = { name: string; run(options: { isWriting: boolean }): AsyncIterable<Result> }

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

/** Returns a result that holds if the value is at most `target`. */
export function atMost(target: number, name: string, value: number, unit: string): Result {
  return { name, value: rounded(value), unit, bar: `≤ ${target}`, holds: value <= target }
}

/** Returns a result that holds if the value is at least `target`. */
export function atLeast(target: number, name: string, value: number, unit: string): Result {
  return { name, value: rounded(value), unit, bar: `≥ ${target}`, holds: value >= target }
}

/** Returns the middle value; for an even count, the upper of the two middle values. @throws if the list is empty */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('The median of an empty list is undefined')
  return middle
}
