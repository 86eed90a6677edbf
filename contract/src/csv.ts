/**
 * Returns rows as CSV (RFC 4180) with `;` as separator by default, as spec 9 requires. Text that a spreadsheet would interpret as a
 * formula gets an apostrophe in front, as OWASP advises; numbers stay unchanged, negative ones too.
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
