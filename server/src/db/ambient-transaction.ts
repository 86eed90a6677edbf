import { AsyncLocalStorage } from 'node:async_hooks'
import { drizzle } from 'drizzle-orm/node-postgres'
import type { Pool } from 'pg'
import type { Db } from './database.ts'

const casing = 'snake_case'

type Scope = { tx: Db | null }

/**
 * A database with ambient transactions: everything that runs inside the callback of `transaction`, in any function it calls, is
 * part of that transaction. An API call and its audit row, or a row and the mail about it, are written together or not at all,
 * without passing the transaction through every function in between. Work that the callback started but did not await runs
 * outside of the transaction once the transaction has ended.
 */
export function createAmbientDb(pool: Pool): Db {
  const root: Db = drizzle(pool, { casing })
  const scopes = new AsyncLocalStorage<Scope>()
  const current = () => scopes.getStore()?.tx ?? root

  const transaction: Db['transaction'] = (work, config) => {
    const open = scopes.getStore()?.tx
    const begin: Db['transaction'] = open ? open.transaction.bind(open) : transactionOf(pool)
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
      const target = current()
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** Replaces drizzle's own transaction on a pool, which leaks the connection when BEGIN fails. */
const transactionOf =
  (pool: Pool): Db['transaction'] =>
  async (work, config) => {
    const client = await pool.connect()
    try {
      return await drizzle(client, { casing }).transaction(work, config)
    } finally {
      client.release(client.getTransactionStatus() !== 'I')
    }
  }
