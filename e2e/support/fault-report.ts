/** What users saw of each fault, printed as rows of the table in docs/reliability.md when the file has ended. */
const rows: string[] = []

/** `saw`: one cell a probe, as the table's header names them. */
export function reportFault(fault: string, ...saw: string[]): void {
  rows.push(`| ${[fault, ...saw].join(' | ')} |`)
}

export function printFaults(...columns: string[]): void {
  const header = ['fault', ...columns]
  console.log([`| ${header.join(' | ')} |`, `|${header.map(() => '---').join('|')}|`, ...rows.splice(0)].join('\n'))
}
