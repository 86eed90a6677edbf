const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t]*$/

/**
 * Parses the values of some metrics in Prometheus' text format; the highest value if a metric has several samples. Ignores lines that
 * are not samples, and values that are not finite numbers. Never throws.
 */
export function readMetrics(text: string, names: ReadonlySet<string>): Map<string, number> {
  const values = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = sample.exec(line.endsWith('\r') ? line.slice(0, -1) : line) ?? []
    const number = names.has(name) && value !== '' ? Number(value) : Number.NaN
    if (Number.isFinite(number)) values.set(name, Math.max(values.get(name) ?? -Infinity, number))
  }
  return values
}

/**
 * Returns the sum of those samples of a metric whose labels contain the text `label`, such as `kind="failure"`; 0 if none does, null if
 * the metric has no samples.
 */
export function sumMetric(text: string, name: string, label: string): number | null {
  let sum: number | null = null
  for (const line of text.split('\n')) {
    if (!line.startsWith(name)) continue
    const [, sampleName = '', value = ''] = sample.exec(line.endsWith('\r') ? line.slice(0, -1) : line) ?? []
    const number = sampleName === name && value !== '' ? Number(value) : Number.NaN
    if (Number.isFinite(number)) sum = (sum ?? 0) + (line.includes(label) ? Math.max(0, Math.round(number)) : 0)
  }
  return sum
}
