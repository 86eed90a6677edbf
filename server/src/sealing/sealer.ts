import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { openKeyRing, type KeyRing } from './key-ring.ts'

/** Encrypts small values for the database and files. `context` binds a value to its row: the value cannot be opened in another row. */
export type Sealer = {
  seal: (plain: string, context: string) => string
  /** @throws Error if the value was changed or moved, or was sealed with a key that is not in the ring */
  open: (sealed: string, context: string) => string
  /** True if the value was sealed with the key that `seal` uses now. */
  isCurrent: (sealed: string) => boolean
}

/** Returns the prefix of all values that were sealed with this key. */
export const sealedPrefix = (keyId: string): string => `v1:${keyId}:`

/** Creates an AES-256-GCM sealer with a key ring: the first key seals, all keys open. */
export function createSealer(options: { keys?: string | undefined; dataDir: string } | { ring: KeyRing }): Sealer {
  const ring = 'ring' in options ? options.ring : openKeyRing(options)
  return {
    seal: (plain, context) => {
      const [newest] = ring.keys()
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', newest.bytes, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return sealedPrefix(newest.id) + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
    },
    isCurrent: (sealed) => sealed.startsWith(sealedPrefix(ring.keys()[0].id)),
    open: (sealed, context) => {
      const [version, id, text = ''] = sealed.split(':')
      const key = ring.keys().find((k) => k.id === id)
      if (version !== 'v1' || !key)
        throw new Error(`No key "${id}" to open a sealed value; is SHOAL_SECRETS_KEY complete?`)
      const bytes = Buffer.from(text, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, 12)).setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
    },
  }
}
