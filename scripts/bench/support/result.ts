/** One measured number, the bar it is held to, and whether it holds. */
export type Result = { name: string; value: number; unit: string; bar: string; holds: boolean }

/** A file of `scripts/bench/`: what it measures under one name, each result as soon as it is known. */
export type Bench = { name: string; run(): AsyncIterable<Result> }

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

export function atMost(bar: number, name: string, value: number, unit: string): Result {
  return { name, value: rounded(value), unit, bar: `≤ ${bar}`, holds: value <= bar }
}

export function atLeast(bar: number, name: string, value: number, unit: string): Result {
  return { name, value: rounded(value), unit, bar: `≥ ${bar}`, holds: value >= bar }
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('There is no median of nothing')
  return middle
}
