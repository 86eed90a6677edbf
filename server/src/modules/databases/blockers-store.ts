import { DatabaseError, type ClientBase } from 'pg'
import type { Database } from '../../db/database.ts'
import { pause } from '../../db/every.ts'

/**
 * The roles of tenants, of any installation. A tenant of another installation that shares the Postgres can lock a role too, by
 * granting it a privilege in a transaction that stays open.
 */
export const tenantRoles = '^sq_[0-9a-f]{8}_[0-9]'

/** Longer than tenants' programs need to change a role or an object, so that their transactions usually end first. */
const blockedMs = 250

/** Applies to each statement of `runUnblocked`, for locks of sessions that Shoal's role may not end. */
const lockTimeout = '5s'

/** More than a tenant whose sessions change its role continuously can make fail. */
const maxAttempts = 50

/**
 * Runs `work`, which uses `client`. While one of its statements waits for a lock, ends the sessions of tenants that hold the lock:
 * a tenant may lock its own role, database and objects in a transaction that stays open. A session that Shoal's role may not end
 * keeps its lock.
 */
export async function withoutBlockers<T>(cluster: Database, client: ClientBase, work: () => Promise<T>): Promise<T> {
  const done = new AbortController()
  const ending = endBlockers(cluster, client, done.signal)
  try {
    return await work()
  } finally {
    done.abort()
    await ending
  }
}

async function endBlockers(cluster: Database, client: ClientBase, done: AbortSignal): Promise<void> {
  const { processID } = client as unknown as { processID: number }
  for (;;) {
    await pause(blockedMs, done)
    if (done.aborted) return
    // The statement that waits reports the problem, if its lock timeout passes.
    await cluster.pool
      .query(
        `select pg_terminate_backend(pid) from unnest(pg_blocking_pids($1)) as blocker (pid)
         join pg_stat_activity using (pid) where usename ~ $2`,
        [processID, tenantRoles],
      )
      .catch(() => undefined)
  }
}

/**
 * Runs one statement that changes a role or a database of a tenant. Ends the sessions of tenants that prevent it, as
 * `withoutBlockers` does, and repeats the statement if a tenant has changed the same role concurrently.
 * @throws DatabaseError; see `isLocked` for locks that are not released within five seconds
 */
export async function runUnblocked(cluster: Database, statement: string): Promise<void> {
  const client = await cluster.pool.connect()
  try {
    await client.query(`set lock_timeout = '${lockTimeout}'`)
    await withoutBlockers(cluster, client, () => runAgainIfChanged(client, statement))
  } finally {
    const isReset = await client.query('reset lock_timeout').then(
      () => true,
      () => false,
    )
    client.release(!isReset)
  }
}

async function runAgainIfChanged(client: ClientBase, statement: string): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      await client.query(statement)
      return
    } catch (error) {
      if (!isChangedConcurrently(error) || attempt === maxAttempts) throw error
    }
}

const lockNotAvailable = '55P03'
const internalError = 'XX000'

/** Whether Postgres found the row of a role or a database changed by a transaction that ended during the statement. */
const isChangedConcurrently = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === internalError && error.message.startsWith('tuple concurrently')

/** Whether a statement failed because a session keeps a role or an object locked, or changes it continuously. */
export const isLocked = (error: unknown): boolean =>
  (error instanceof DatabaseError && error.code === lockNotAvailable) || isChangedConcurrently(error)
