import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { findOrAddSigningKey } from './store.ts'

export type SigningPurpose = 'session' | 'challenge'

export const signingKeyContext = (purpose: string): string => `signing-key:${purpose}`

const keys = new WeakMap<App, Map<SigningPurpose, Promise<Uint8Array>>>()

/** 32 bytes, the same for all API processes: created on first use and stored sealed in the database. */
export function signingKey(app: App, purpose: SigningPurpose): Promise<Uint8Array> {
  const ofApp = keys.get(app) ?? new Map<SigningPurpose, Promise<Uint8Array>>()
  keys.set(app, ofApp)
  const key = ofApp.get(purpose) ?? load(app, purpose)
  ofApp.set(purpose, key)
  // A database outage must not break sign-in for good.
  key.catch(() => ofApp.delete(purpose))
  return key
}

async function load(app: App, purpose: SigningPurpose): Promise<Uint8Array> {
  const context = signingKeyContext(purpose)
  const sealed = await findOrAddSigningKey(
    app.db,
    purpose,
    app.sealer.seal(randomBytes(32).toString('base64'), context),
  )
  return Buffer.from(app.sealer.open(sealed, context), 'base64')
}
