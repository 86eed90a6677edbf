import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { findOrAddSigningKey } from './store.ts'

export type SigningPurpose = 'session' | 'challenge'

/** The context with which the key of a purpose is sealed. */
export const signingKeyContext = (purpose: string): string => `signing-key:${purpose}`

const keys = new WeakMap<App, Map<SigningPurpose, Promise<Uint8Array>>>()

/** Returns a 32-byte key that all API processes share: created on first use and stored sealed in the database. */
export function signingKey(app: App, purpose: SigningPurpose): Promise<Uint8Array> {
  const appKeys = keys.get(app) ?? new Map<SigningPurpose, Promise<Uint8Array>>()
  keys.set(app, appKeys)
  const key = appKeys.get(purpose) ?? loadKey(app, purpose)
  appKeys.set(purpose, key)
  // A failed load is not cached, so that sign-in works again after a database outage.
  key.catch(() => appKeys.delete(purpose))
  return key
}

async function loadKey(app: App, purpose: SigningPurpose): Promise<Uint8Array> {
  const context = signingKeyContext(purpose)
  const sealed = await findOrAddSigningKey(
    app.db,
    purpose,
    app.sealer.seal(randomBytes(32).toString('base64'), context),
  )
  return Buffer.from(app.sealer.open(sealed, context), 'base64')
}
