/** Formats the result of a command for a terminal, one line per field. */
export const formatResult = (result: Record<string, unknown>): string =>
  Object.entries(result)
    .map(([key, value]) => `${key.padEnd(14)} ${formatValue(value)}\n`)
    .join('')

function formatValue(value: unknown): string {
  if (Array.isArray(value) && value.length > 0)
    return value.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join(`\n${' '.repeat(15)}`)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
