import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../root.ts'
import { aggregates } from './support/plans/aggregates.ts'
import { groupsOf, tableOf, totalsOf, withTable } from './support/plans/document.ts'
import { exceptions } from './support/plans/exceptions.ts'
import { reportOf, judge, unusedEntries, type Judged } from './support/plans/judge.ts'
import { recordPlans } from './support/plans/record.ts'
import { unmeasured, unmeasuredInSomeRuns } from './support/plans/unmeasured.ts'
import { atMost, type Bench, type Result } from './support/result.ts'

const versions = Number(process.env['PLANS_VERSIONS'] ?? 10_000)

const pageFile = join(root, 'docs/benchmarks.md')
const lists = { aggregates, exceptions }

function resultOf(group: string, statements: Judged[]): Result {
  const { read, returned, maxRead } = totalsOf(statements)
  return {
    name: `plans, ${group}, ${statements.length} statements`,
    value: read,
    unit: `rows for ${returned}`,
    bar: `≤ ${maxRead}`,
    holds: statements.every(({ isWithinLimit }) => isWithinLimit),
  }
}

/** Returns one line of tab-separated values per statement, sorted by the ratio of the rows it read to its `maxRead`, highest first. */
const linesOf = (judged: Judged[]) =>
  judged
    .toSorted((a, b) => b.cost.read / b.maxRead - a.cost.read / a.maxRead)
    .map(({ caller, executions, totalMs, cost, maxRead, aggregate, exception, statement }) =>
      [
        caller,
        executions,
        (totalMs / executions).toFixed(2),
        cost.returned,
        cost.aggregated,
        cost.read,
        maxRead,
        cost.pages,
        cost.scanned.join(','),
        aggregate ? 'aggregate' : '',
        exception ? 'exception' : '',
        statement,
      ].join('\t'),
    )

export const bench: Bench = {
  name: 'plans',
  async *run({ isWriting }) {
    const { statements: recorded, uncalled, unfinished, failedStatements } = await recordPlans(versions)
    const judged = judge(recorded, lists, versions)
    const file = process.env['PLANS_FILE']
    const header =
      'caller\texecutions\tms\treturned\taggregated\tread\tmax read\tpages\tscanned\taggregate\texception\tstatement'
    if (file) writeFileSync(file, `${[header, ...linesOf(judged)].join('\n')}\n`)
    for (const statement of judged) if (!statement.isWithinLimit) console.error(reportOf(statement))
    for (const [group, statements] of groupsOf(judged)) yield resultOf(group, statements)
    if (isWriting) {
      const table = tableOf(judged, versions, new Date().toISOString().slice(0, 10))
      writeFileSync(pageFile, withTable(readFileSync(pageFile, 'utf8'), table))
    }
    const missing = uncalled.filter((name) => !unmeasured.has(name) && !unmeasuredInSomeRuns.has(name))
    for (const name of missing)
      console.error(`No loop, job or endpoint called the function ${name}. Call it, or add it to unmeasured.ts.`)
    for (const name of unmeasured)
      if (!uncalled.includes(name)) console.error(`The function ${name} was called. Remove it from unmeasured.ts.`)
    yield atMost(0, 'plans, functions without plans', missing.length, '')
    for (const caller of unfinished) console.error(`${caller} did not complete a round in time.`)
    yield atMost(0, 'plans, loops without a complete round', unfinished.length, '')
    for (const line of failedStatements) console.error(`A statement failed: ${line.slice(0, 1000)}`)
    yield atMost(0, 'plans, failed statements', failedStatements.length, '')
    const unused = unusedEntries(judged, lists)
    for (const statement of unused)
      console.error(
        `No executed statement matches this entry. Remove it from aggregates.ts or exceptions.ts: ${statement}`,
      )
    yield atMost(0, 'plans, unused entries of lists', unused.length, '')
  },
}
