/** What users saw of each fault, printed at the end of the file as rows for the table in docs/reliability.md. */
const rows: string[] = []

/** `saw`: one cell per probe, in the order of the table's header. */
export function reportFault(fault: string, ...saw: string[]): void {
  rows.push(`| ${[fault, ...saw].join(' | ')} |`)
}

export function printFaults(...columns: string[]): void {
  const header = ['fault', ...columns]
  console.log([`| ${header.join(' | ')} |`, `|${header.map(() => '---').join('|')}|`, ...rows.splice(0)].join('\n'))
}
