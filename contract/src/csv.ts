/**
 * Returns rows as CSV (RFC 4180), separated by `;` by default, as spec 9 requires. Text that a spreadsheet would interpret as a
 * formula is prefixed with an apostrophe, as OWASP advises; numbers, including negative ones, are unchanged.
 */
export function csvOf(rows: readonly (readonly string[])[], separator = ';'): string {
  return rows.map((row) => `${row.map((cell) => cellOf(cell, separator)).join(separator)}\r\n`).join('')
}

function cellOf(text: string, separator: string): string {
  const isNumber = /^-?\d+(\.\d+)?$/.test(text)
  const safe = !isNumber && /^[=+\-@\t\r\n|]/.test(text.trimStart() || text) ? `'${text}` : text
  const needsQuotes = safe.includes(separator) || /["\r\n,;\t]/.test(safe)
  return needsQuotes ? `"${safe.replaceAll('"', '""')}"` : safe
}
