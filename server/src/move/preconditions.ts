import { setTimeout as delay } from 'node:timers/promises'
import { connectForMove, otherClients } from './move-client-store.ts'
import { readSideState, type SideState } from './move-state-store.ts'
import type { Side } from './side.ts'

/** The time in which Postgres detects that processes have ended, such as an earlier attempt that was killed. */
const waitMs = 5_000
const pollMs = 100

/** @throws Error while another process uses the database, such as a server, perhaps on another host */
export async function requireUnused(
  { database, location }: Pick<Side, 'database' | 'location'>,
  limitMs = waitMs,
): Promise<void> {
  const client = await connectForMove(database.url)
  try {
    const deadline = performance.now() + limitMs
    for (;;) {
      const clients = await otherClients(client)
      if (clients.length === 0) return
      if (performance.now() > deadline)
        throw new Error(
          `A server or another program uses ${location}: it has the connections ${clients.join(', ')}. Stop all processes with these settings, and run this command again.`,
        )
      await delay(pollMs)
    }
  } finally {
    await client.end()
  }
}

/** Reads what the database of the control plane contains. */
export async function readState({ database }: Pick<Side, 'database'>): Promise<SideState> {
  const client = await connectForMove(database.url)
  try {
    return await readSideState(client)
  } finally {
    await client.end()
  }
}

/** @throws Error if the target has data that the move must not replace */
export function checkTarget({ source, target }: { source: SideState; target: SideState }): void {
  if (target.isEmpty) return
  if (target.prefix !== source.prefix || target.mark === null || target.mark.state === 'arrived')
    throw new Error(
      'The database of the target contains an installation. Its DATABASE_URL must name an empty database, or one from which this installation was moved before.',
    )
}
