import { maxReadOf } from './cost.ts'
import type { RecordedStatement } from './recorder.ts'

/** A statement that must read the rows that it aggregates, and the reason. `statement`: the beginning of the normalized statement. */
export type Aggregate = { statement: string; reason: string }

/** A statement that may read more rows than its `maxRead`, and the reason. */
export type Exception = Aggregate & {
  /** Number of additional rows that the statement may read for each version of the installation. */
  perVersion: number
}

export type Judged = RecordedStatement & {
  maxRead: number
  aggregate: Aggregate | null
  exception: Exception | null
  /** Whether the statement read at most `maxRead` rows, or at most `fewPages` pages. */
  isWithinLimit: boolean
}

/** The statements that may read more rows than they return. */
export type Lists = { aggregates: Aggregate[]; exceptions: Exception[] }

/** A statement that reads at most this many pages needs no index: Postgres reads a small table as a whole. */
const fewPages = 32

/** Compares the rows that each statement read with its `maxRead`, which the lists raise. A statement that reads few pages is always within its limit. */
export function judge(statements: RecordedStatement[], { aggregates, exceptions }: Lists, versions: number): Judged[] {
  return statements.map((statement) => {
    const isOf = ({ statement: beginning }: Aggregate) => statement.statement.startsWith(beginning)
    const aggregate = aggregates.find(isOf) ?? null
    const exception = exceptions.find(isOf) ?? null
    const cost = aggregate ? statement.aggregateCost : statement.cost
    const maxRead = maxReadOf(cost, aggregate !== null) + (exception?.perVersion ?? 0) * versions
    return {
      ...statement,
      cost,
      aggregate,
      exception,
      maxRead,
      isWithinLimit: cost.read <= maxRead || cost.pages <= fewPages,
    }
  })
}

/** Returns the entries of the lists that no executed statement matches, because the statement was changed or removed. */
export const unusedEntries = (judged: Judged[], { aggregates, exceptions }: Lists): string[] =>
  [...aggregates, ...exceptions]
    .filter((entry) => !judged.some(({ aggregate, exception }) => aggregate === entry || exception === entry))
    .map(({ statement }) => statement)

/** Describes a statement in one line: its caller, the rows it read and returned, and its text. */
export const reportOf = ({ caller, statement, cost, maxRead }: Judged): string =>
  `${caller}: read ${cost.read} rows for ${cost.returned} (at most ${maxRead})${cost.scanned.length > 0 ? `, all of ${cost.scanned.join(', ')}` : ''}: ${statement}`
