import { AsyncLocalStorage } from 'node:async_hooks'
import { drizzle } from 'drizzle-orm/node-postgres'
import type { Pool } from 'pg'
import type { Db } from './database.ts'

const casing = 'snake_case'

type Scope = { tx: Db | null }

/**
 * A database whose every use in the callback of one of its transactions, by whatever function it calls, is part of that transaction.
 * So a call of the API and its audit row, or a row and the mail about it, are written together or not at all, without handing the
 * transaction through every function between. What the callback started and did not wait for is no part of it any more once it ended.
 */
export function createAmbientDb(pool: Pool): Db {
  const root: Db = drizzle(pool, { casing })
  const scopes = new AsyncLocalStorage<Scope>()
  const current = () => scopes.getStore()?.tx ?? root

  const transaction: Db['transaction'] = (work, config) => {
    const open = scopes.getStore()?.tx
    const begin: Db['transaction'] = open ? open.transaction.bind(open) : ofPool(pool)
    return begin(async (tx) => {
      const scope: Scope = { tx }
      try {
        return await scopes.run(scope, async () => await work(tx))
      } finally {
        scope.tx = null
      }
    }, config)
  }

  return new Proxy(root, {
    get: (_, key) => {
      if (key === 'transaction') return transaction
      const at = current()
      const value: unknown = Reflect.get(at, key, at)
      return typeof value === 'function' ? (value.bind(at) as unknown) : value
    },
  })
}

/** Drizzle's own transaction of a pool keeps the connection for ever when its BEGIN fails. */
const ofPool =
  (pool: Pool): Db['transaction'] =>
  async (work, config) => {
    const client = await pool.connect()
    try {
      return await drizzle(client, { casing }).transaction(work, config)
    } finally {
      client.release(client.getTransactionStatus() !== 'I')
    }
  }
