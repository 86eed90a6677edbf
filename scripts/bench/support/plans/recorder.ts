import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import { costOf, maxReadOf, type PlanCost, type PlanNode } from './cost.ts'

/** Settings that make Postgres send the plan of every statement to its client, once `auto_explain.log_min_duration` is 0. */
export const explainSettings = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '-1',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
}

/** A statement of one caller. Its costs are those of the executions that exceeded `maxReadOf` most. */
export type RecordedStatement = {
  caller: string
  /** The normalized statement, in which lists of values have one element. */
  statement: string
  executions: number
  totalMs: number
  cost: PlanCost
  /** The cost if the statement may aggregate. */
  aggregateCost: PlanCost
}

type Notice = { message?: string | undefined }

const labelPattern = /^\s*\/\* caller: (.*?) \*\/\s*/
const planPattern = /^duration: ([\d.]+) ms\s+plan:\n([\s\S]*)$/

/** Collects the plans of all statements that run inside `as`, on any connection of this process. */
export class PlanRecorder {
  readonly #callers = new AsyncLocalStorage<string>()
  readonly #statements = new Map<string, RecordedStatement>()
  readonly #listening = new WeakSet<pg.Client>()
  readonly #query = Reflect.get(pg.Client.prototype, 'query') as (this: pg.Client, ...args: unknown[]) => unknown

  /** Runs `work`, and records statements of `work` and of all tasks that it starts under the caller's name. */
  as<T>(caller: string, work: () => T): T {
    return this.#callers.run(caller, work)
  }

  /** Starts labelling statements with their caller. The plans that Postgres sends include the label. */
  start(): void {
    const original = this.#query
    const currentCaller = () => this.#callers.getStore()
    const listen = (client: pg.Client) => this.#listen(client)
    pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
      const caller = currentCaller()
      if (caller === undefined) return original.apply(this, args)
      listen(this)
      return original.apply(this, [withLabel(args[0], caller), ...args.slice(1)])
    } as never
  }

  /** Stops labelling statements. */
  stop(): void {
    pg.Client.prototype.query = this.#query as never
  }

  /** Returns the statements recorded so far. */
  statements(): RecordedStatement[] {
    return [...this.#statements.values()]
  }

  #listen(client: pg.Client): void {
    if (this.#listening.has(client)) return
    this.#listening.add(client)
    client.on('notice', ({ message }: Notice) => this.#record(message ?? ''))
  }

  #record(message: string): void {
    const [, ms, json] = planPattern.exec(message) ?? []
    if (ms === undefined || json === undefined) return
    const { 'Query Text': text, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode }
    const caller = labelPattern.exec(text)?.[1]
    if (caller === undefined) return
    const statement = normalized(text.replace(labelPattern, ''))
    const cost = costOf(plan)
    const key = `${caller}\n${statement}`
    const previous = this.#statements.get(key)
    this.#statements.set(key, {
      caller,
      statement,
      executions: (previous?.executions ?? 0) + 1,
      totalMs: (previous?.totalMs ?? 0) + Number(ms),
      cost: worse(previous?.cost, cost, false),
      aggregateCost: worse(previous?.aggregateCost, cost, true),
    })
  }
}

function worse(previous: PlanCost | undefined, cost: PlanCost, mayAggregate: boolean): PlanCost {
  const excess = (of: PlanCost) => of.read - maxReadOf(of, mayAggregate)
  return !previous || excess(cost) > excess(previous) ? cost : previous
}

/** Returns the first argument of `Client.query`, labelled with the caller. Leaves COPY streams and cursors unchanged. */
function withLabel(query: unknown, caller: string): unknown {
  const prefix = `/* caller: ${caller} */ `
  if (typeof query === 'string') return prefix + query
  const isStatement = typeof query === 'object' && query !== null && 'text' in query && !('submit' in query)
  return isStatement ? { ...query, text: `${prefix}${String(query.text)}` } : query
}

/** Normalizes a statement, so that two statements are equal if they differ only in the number of values, the day of a partition or white space. */
function normalized(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\$\d+/g, '$n')
    .replaceAll(
      /(\((?:\$n|default)(?:, ?(?:\$n|default))*\))(?:, ?\((?:\$n|default)(?:, ?(?:\$n|default))*\))+/g,
      '$1, …',
    )
    .replaceAll(/\(\$n(?:, ?\$n)+\)/g, '($n, …)')
    .replaceAll(/(\([^()]* = \$n\))(?: or \([^()]* = \$n\))+/g, '$1 or …')
    .replaceAll(/_\d{8}\b/g, '_DAY')
    .trim()
}
