/** The effects of each fault on users, as rows for the table in docs/reliability.md. */
const rows: string[] = []

/** Adds a row with one cell per column, in the order of the header. */
export function reportFault(fault: string, ...cells: string[]): void {
  rows.push(`| ${[fault, ...cells].join(' | ')} |`)
}

/** Prints the table with these columns after `fault`, and clears it. Call it after all tests of a file. */
export function printFaults(...columns: string[]): void {
  const header = ['fault', ...columns]
  console.log([`| ${header.join(' | ')} |`, `|${header.map(() => '---').join('|')}|`, ...rows.splice(0)].join('\n'))
}
