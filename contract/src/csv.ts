/**
 * Comma-separated values (RFC 4180) with `;` between, as spec 9 has it. A text that a spreadsheet would take for a formula gets an
 * apostrophe before it, as OWASP advises; numbers pass as they are, negative ones too.
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
