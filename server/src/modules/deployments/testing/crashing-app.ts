import type { Client, QueryResult } from 'pg'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerApp } from '../../../app.ts'
import { connect, type Database } from '../../../db/database.ts'
import { singleHost } from '../../../db/database-hosts.ts'

/** The point at which a worker dies: just before or just after its write number `call`, counted from 1. */
export type KillPoint = { call: number; when: 'before' | 'after' }

/** The app of a worker that is killed, and functions to wait for the kill and to close the worker's connections. */
export type CrashingApp = {
  app: WorkerApp
  isDead: () => boolean
  /** Resolves when the worker dies. */
  died: Promise<void>
  /** Closes the worker's connections, as the kernel does for a killed process. This ends its transactions and releases its locks. */
  terminate: () => Promise<void>
}

const neverSettle = () => new Promise<never>(() => {})
const writePattern = /^\s*(insert|update|delete|create|alter|drop|grant|revoke)/i

/**
 * Returns the app of a worker that is killed: after `killPoint` none of its calls takes effect or returns. Squids and stored data
 * survive.
 */
export function crashingApp(app: WorkerApp, killPoint: KillPoint): CrashingApp {
  let calls = 0
  let isDead = false
  let resolveDied = () => {}
  const died = new Promise<void>((done) => void (resolveDied = done))
  const die = () => {
    isDead = true
    resolveDied()
  }
  /** Counts a write and decides its outcome. */
  const decide = (): WriteOutcome => {
    if (isDead) return 'lost'
    if (++calls < killPoint.call) return 'done'
    die()
    return killPoint.when === 'before' ? 'lost' : 'unconfirmed'
  }
  const name = `crashing-${randomBytes(4).toString('hex')}`
  const url = new URL(app.database.url)
  url.searchParams.set('application_name', name)
  const database = crashingDatabase(connect(url.href, { max: 6 }), decide, () => isDead)
  const wrap = <T extends object>(target: T, mutating: string[]) =>
    new Proxy(target, {
      get: (_, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          if (key === 'endpoint') return isDead ? null : Reflect.apply(value, target, args)
          const outcome = mutating.includes(String(key)) ? decide() : isDead ? 'lost' : 'done'
          if (outcome === 'lost') return neverSettle()
          const result: unknown = Reflect.apply(value, target, args)
          return outcome === 'done' ? result : Promise.resolve(result).then(neverSettle, neverSettle)
        }
      },
    })
  return {
    app: {
      ...app,
      database,
      db: database.db,
      databaseHosts: singleHost(database),
      runtime: wrap(app.runtime, ['apply', 'remove']),
      directory: wrap(app.directory, []),
      builder: wrap(app.builder, ['unpack', 'build', 'removeTree']),
    },
    isDead: () => isDead,
    died,
    terminate: async () => {
      die()
      const { pool } = app.database
      const terminateQuery = 'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1'
      // Repeated, because a connection may be opening at this moment.
      while ((await pool.query(terminateQuery, [name])).rowCount) await sleep(2)
      // Not awaited, because clients whose query never returns are never released.
      void database.close()
    },
  }
}

type WriteOutcome = 'done' | 'lost' | 'unconfirmed'
type DecideWrite = () => WriteOutcome
type QueryCallback = (error: Error | null, result: QueryResult) => void

/** Replaces `query` of each connection, to count writes and lose them after the kill. */
function crashingDatabase(database: Database, decide: DecideWrite, isDead: () => boolean): Database {
  database.pool.on('connect', (client) => {
    client.on('error', () => {})
    const { query } = client as unknown as { query: (...args: unknown[]) => unknown }
    let isInTransaction = false
    /** A transaction counts as one write, made by its commit. */
    const isChange = (text: string) => {
      if (/^\s*begin/i.test(text)) isInTransaction = true
      else if (/^\s*commit/i.test(text)) {
        isInTransaction = false
        return true
      } else if (/^\s*rollback/i.test(text)) isInTransaction = false
      return !isInTransaction && writePattern.test(text)
    }
    const patched = (...args: unknown[]): unknown => {
      const [first] = args
      const text = typeof first === 'string' ? first : String((first as { text?: string }).text)
      const outcome = isChange(text) ? decide() : isDead() ? 'lost' : 'done'
      if (outcome === 'lost') return neverSettle()
      if (outcome === 'done') return Reflect.apply(query, client, args)
      const last = args.at(-1)
      const ignoreResult: QueryCallback = () => {}
      if (typeof last === 'function') return Reflect.apply(query, client, [...args.slice(0, -1), ignoreResult])
      return Promise.resolve(Reflect.apply(query, client, args)).then(neverSettle, neverSettle)
    }
    ;(client as unknown as Client).query = patched as Client['query']
  })
  return database
}
