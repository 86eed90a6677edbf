import { writeFileSync } from 'node:fs'
import { exceptions } from './support/plans/exceptions.ts'
import { reportOf, judge, unusedExceptions, type Judged } from './support/plans/judge.ts'
import { recordPlans } from './support/plans/record.ts'
import { unmeasured, unmeasuredInSomeRuns } from './support/plans/unmeasured.ts'
import type { Bench, Result } from './support/result.ts'

const versions = Number(process.env['PLANS_VERSIONS'] ?? 10_000)

/** Returns the group of a statement: the name of its loop, the area of its endpoint, or `jobs`. */
const groupOf = ({ caller }: Judged) =>
  caller.startsWith('job ') ? 'jobs' : caller.includes('.') ? `API ${caller.split('.')[0]}` : caller

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

function resultOf(group: string, statements: Judged[]): Result {
  return {
    name: `plans, ${group}, ${statements.length} statements`,
    value: sum(statements.map(({ cost }) => cost.read)),
    unit: `rows for ${sum(statements.map(({ cost }) => cost.returned))}`,
    bar: `≤ ${sum(statements.map(({ maxRead }) => maxRead))}`,
    holds: statements.every(({ holds }) => holds),
  }
}

/** Returns one line of tab-separated values per statement, sorted by the ratio of the rows it read to its `maxRead`, highest first. */
const linesOf = (judged: Judged[]) =>
  judged
    .toSorted((a, b) => b.cost.read / b.maxRead - a.cost.read / a.maxRead)
    .map(({ caller, executions, totalMs, cost, maxRead, exception, statement }) =>
      [
        caller,
        executions,
        (totalMs / executions).toFixed(2),
        cost.returned,
        cost.read,
        maxRead,
        cost.pages,
        cost.scanned.join(','),
        exception ? 'exception' : '',
        statement,
      ].join('\t'),
    )

export const bench: Bench = {
  name: 'plans',
  async *run() {
    const { statements: recorded, uncalled, failedStatements } = await recordPlans(versions)
    const judged = judge(recorded, exceptions, versions)
    const file = process.env['PLANS_FILE']
    const header = 'caller\texecutions\tms\treturned\tread\tmax read\tpages\tscanned\texception\tstatement'
    if (file) writeFileSync(file, `${[header, ...linesOf(judged)].join('\n')}\n`)
    for (const statement of judged) if (!statement.holds) console.error(reportOf(statement))
    for (const [group, statements] of [...Map.groupBy(judged, groupOf)].toSorted(([a], [b]) => a.localeCompare(b)))
      yield resultOf(group, statements)
    const missing = uncalled.filter((name) => !unmeasured.has(name) && !unmeasuredInSomeRuns.has(name))
    for (const name of missing)
      console.error(`No loop, job or endpoint called the function ${name}. Call it, or add it to unmeasured.ts.`)
    for (const name of unmeasured)
      if (!uncalled.includes(name)) console.error(`The function ${name} was called. Remove it from unmeasured.ts.`)
    yield {
      name: 'plans, functions without plans',
      value: missing.length,
      unit: '',
      bar: '≤ 0',
      holds: missing.length === 0,
    }
    for (const line of failedStatements) console.error(`A statement failed: ${line.slice(0, 1000)}`)
    yield {
      name: 'plans, failed statements',
      value: failedStatements.length,
      unit: '',
      bar: '≤ 0',
      holds: failedStatements.length === 0,
    }
    const unused = unusedExceptions(judged, exceptions)
    for (const statement of unused)
      console.error(`No executed statement matches this exception. Remove it from exceptions.ts: ${statement}`)
    yield { name: 'plans, unused exceptions', value: unused.length, unit: '', bar: '≤ 0', holds: unused.length === 0 }
  },
}
