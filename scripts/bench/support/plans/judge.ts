import type { RecordedStatement } from './recorder.ts'

/** A statement that may read more rows than its `maxRead`, and the reason. */
export type Exception = {
  /** The beginning of the normalized statement. */
  statement: string
  /** Number of additional rows that the statement may read for each version of the installation. */
  perVersion: number
  reason: string
}

export type Judged = RecordedStatement & { maxRead: number; exception: Exception | null; holds: boolean }

/** A statement that reads at most this many pages needs no index: Postgres reads a small table as a whole. */
const fewPages = 32

/** Compares the rows that each statement read with its `maxRead`, which an exception raises. A statement that reads few pages always holds. */
export function judge(statements: RecordedStatement[], exceptions: Exception[], versions: number): Judged[] {
  return statements.map((statement) => {
    const exception = exceptions.find((candidate) => statement.statement.startsWith(candidate.statement)) ?? null
    const maxRead = statement.cost.maxRead + (exception?.perVersion ?? 0) * versions
    return {
      ...statement,
      exception,
      maxRead,
      holds: statement.cost.read <= maxRead || statement.cost.pages <= fewPages,
    }
  })
}

/** Returns the exceptions that no executed statement matches, because the statement was changed or removed. */
export const unusedExceptions = (judged: Judged[], exceptions: Exception[]): string[] =>
  exceptions
    .filter((candidate) => !judged.some(({ exception }) => exception === candidate))
    .map(({ statement }) => statement)

/** Describes a statement in one line: its caller, the rows it read and returned, and its text. */
export const reportOf = ({ caller, statement, cost, maxRead }: Judged): string =>
  `${caller}: read ${cost.read} rows for ${cost.returned} (at most ${maxRead})${cost.scanned.length > 0 ? `, all of ${cost.scanned.join(', ')}` : ''}: ${statement}`
