import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import type { Sealer } from '../../sealing/sealer.ts'
import { selectSquidDatabase } from './database-store.ts'

/** Returns a random password, in characters that need no escaping in URLs. */
export const newPassword = (): string => randomBytes(24).toString('base64url')

/** The context that binds a sealed password to its version and role. */
export const passwordContext = (squidId: number, role: 'owner' | 'reader' | 'login'): string =>
  `squid ${squidId} database ${role}`

/** Unseals the password of the role that owns the database. */
export const ownerPasswordOf = (sealer: Sealer, row: { squidId: number; sealedPassword: string }): string =>
  sealer.open(row.sealedPassword, passwordContext(row.squidId, 'owner'))

/** Unseals the password of the role that may only read the database. */
export const readerPasswordOf = (sealer: Sealer, row: { squidId: number; sealedReadPassword: string }): string =>
  sealer.open(row.sealedReadPassword, passwordContext(row.squidId, 'reader'))

/** Unseals the password of a login of a single program. */
export const loginPasswordOf = (sealer: Sealer, row: { squidId: number; sealedPassword: string }): string =>
  sealer.open(row.sealedPassword, passwordContext(row.squidId, 'login'))

/** Returns the password of the database's owner; null without a database. */
export async function ownerPassword(app: Pick<App, 'db' | 'sealer'>, squidId: number): Promise<string | null> {
  const row = await selectSquidDatabase(app.db, squidId)
  return row && ownerPasswordOf(app.sealer, row)
}
