import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { selectSquidDatabase } from './database-store.ts'

export const newPassword = (): string => randomBytes(24).toString('base64url')

/** The context that binds a sealed password to its version and role. */
export const passwordContext = (squidId: number, role: 'owner' | 'reader'): string =>
  `squid ${squidId} database ${role}`

/** Returns the password of the database's owner; null without a database. */
export async function ownerPassword(app: Pick<App, 'db' | 'sealer'>, squidId: number): Promise<string | null> {
  const row = await selectSquidDatabase(app.db, squidId)
  return row && app.sealer.open(row.sealedPassword, passwordContext(squidId, 'owner'))
}
