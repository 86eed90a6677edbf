import type { Client, QueryResult } from 'pg'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerApp } from '../../../app.ts'
import { connect, type Database } from '../../../db/database.ts'

/** Where a worker dies: at its `call`-th change of anything, just before that took effect or just after. */
export type KillPoint = { call: number; when: 'before' | 'after' }

export type CrashingApp = {
  app: WorkerApp
  isDead: () => boolean
  /** Resolves at the moment of death. */
  died: Promise<void>
  /** What an operating system does to a killed process: its connections end, and with them its transactions and locks. */
  bury: () => Promise<void>
}

const never = () => new Promise<never>(() => {})
const changes = /^\s*(insert|update|delete|create|alter|drop|grant|revoke)/i

/**
 * The app of a worker that is killed: from its death on nothing it asks for happens or answers. Squids and what is stored
 * outlive it.
 */
export function mortal(app: WorkerApp, death: KillPoint): CrashingApp {
  let calls = 0
  let isDead = false
  let tell = () => {}
  const died = new Promise<void>((done) => void (tell = done))
  const die = () => {
    isDead = true
    tell()
  }
  /** What becomes of a change. */
  const fate = (): 'happens' | 'is lost' | 'is not known' => {
    if (isDead) return 'is lost'
    if (++calls < death.call) return 'happens'
    die()
    return death.when === 'before' ? 'is lost' : 'is not known'
  }
  const name = `mortal-${randomBytes(4).toString('hex')}`
  const url = new URL(app.database.url)
  url.searchParams.set('application_name', name)
  const database = mortalDatabase(connect(url.href, { max: 6 }), fate, () => isDead)
  const wrap = <T extends object>(target: T, mutating: string[]) =>
    new Proxy(target, {
      get: (_, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          if (key === 'endpoint') return isDead ? null : Reflect.apply(value, target, args)
          const what = mutating.includes(String(key)) ? fate() : isDead ? 'is lost' : 'happens'
          if (what === 'is lost') return never()
          const result: unknown = Reflect.apply(value, target, args)
          return what === 'happens' ? result : Promise.resolve(result).then(never, never)
        }
      },
    })
  return {
    app: {
      ...app,
      database,
      db: database.db,
      squidsDatabase: database,
      runtime: wrap(app.runtime, ['apply', 'remove']),
      directory: wrap(app.directory, []),
      builder: wrap(app.builder, ['unpack', 'build', 'removeTree']),
    },
    isDead: () => isDead,
    died,
    bury: async () => {
      die()
      const { pool } = app.database
      const end = 'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1'
      // Again until none is left: one may just have been connecting.
      while ((await pool.query(end, [name])).rowCount) await sleep(2)
      // Not awaited: clients that died with a query under way never become free.
      void database.close()
    },
  }
}

type WriteFate = () => 'happens' | 'is lost' | 'is not known'
type Answer = (error: Error | null, result: QueryResult) => void

/** Changes are counted where they go through: at each connection's `query`. */
function mortalDatabase(database: Database, fate: WriteFate, isDead: () => boolean): Database {
  database.pool.on('connect', (client) => {
    client.on('error', () => {})
    const { query } = client as unknown as { query: (...args: unknown[]) => unknown }
    let isInTransaction = false
    /** A transaction is one change, made by its commit. */
    const isChange = (text: string) => {
      if (/^\s*begin/i.test(text)) isInTransaction = true
      else if (/^\s*commit/i.test(text)) {
        isInTransaction = false
        return true
      } else if (/^\s*rollback/i.test(text)) isInTransaction = false
      return !isInTransaction && changes.test(text)
    }
    const patched = (...args: unknown[]): unknown => {
      const [first] = args
      const text = typeof first === 'string' ? first : String((first as { text?: string }).text)
      const what = isChange(text) ? fate() : isDead() ? 'is lost' : 'happens'
      if (what === 'is lost') return never()
      if (what === 'happens') return Reflect.apply(query, client, args)
      const last = args.at(-1)
      const answered: Answer = () => {}
      if (typeof last === 'function') return Reflect.apply(query, client, [...args.slice(0, -1), answered])
      return Promise.resolve(Reflect.apply(query, client, args)).then(never, never)
    }
    ;(client as unknown as Client).query = patched as Client['query']
  })
  return database
}
