import { AsyncLocalStorage } from 'node:async_hooks'
import type { Pool } from 'pg'
import type { Db } from './database.ts'
import { drizzle } from './drizzle.ts'

const casing = 'snake_case'

type Scope = { tx: Db | null }

/**
 * Creates a database with ambient transactions: all queries inside the callback of `transaction`, in any function it calls, are part
 * of that transaction. An API call and its audit row, or a row and the email about it, are written together or not at all, without
 * passing the transaction through every function in between. Queries that the callback started but did not await run outside the
 * transaction once it has ended.
 */
export function createAmbientDb(pool: Pool): Db {
  const root: Db = drizzle(pool, { casing })
  const scopes = new AsyncLocalStorage<Scope>()
  const currentDb = () => scopes.getStore()?.tx ?? root

  const transaction: Db['transaction'] = (work, config) => {
    const outerTransaction = scopes.getStore()?.tx
    const begin: Db['transaction'] = outerTransaction
      ? outerTransaction.transaction.bind(outerTransaction)
      : beginOnPool(pool)
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
      const target = currentDb()
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** Replaces drizzle's own transaction on a pool, which leaks the connection when BEGIN fails. */
const beginOnPool =
  (pool: Pool): Db['transaction'] =>
  async (work, config) => {
    const client = await pool.connect()
    try {
      return await drizzle(client, { casing }).transaction(work, config)
    } finally {
      client.release(client.getTransactionStatus() !== 'I')
    }
  }
