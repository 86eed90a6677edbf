import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Seals small values for the database. `context` ties a value to its place: it cannot be moved to another row. */
export type Sealer = {
  seal: (plain: string, context: string) => string
  /** @throws Error when the value was changed, moved, or sealed with a key that is not in the ring */
  open: (sealed: string, context: string) => string
}

type Key = { id: string; bytes: Buffer }

/**
 * AES-256-GCM with a ring of keys: the first seals, all open. From SHOAL_SECRETS_KEY (comma-separated, newest first) or a
 * file in the data directory, made on first use.
 */
export function createSealer(options: { keys?: string | undefined; dataDir: string }): Sealer {
  const ring = (options.keys ?? keyFile(options.dataDir))
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(toKey)
  const [newest] = ring
  if (!newest) throw new Error('SHOAL_SECRETS_KEY holds no key')
  return {
    seal: (plain, context) => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', newest.bytes, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return ['v1', newest.id, Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')].join(':')
    },
    open: (sealed, context) => {
      const [version, id, text = ''] = sealed.split(':')
      const key = ring.find((k) => k.id === id)
      if (version !== 'v1' || !key)
        throw new Error(`No key "${id}" to open a sealed value; is SHOAL_SECRETS_KEY complete?`)
      const bytes = Buffer.from(text, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, 12)).setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
    },
  }
}

function toKey(text: string): Key {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 32)
    throw new Error('SHOAL_SECRETS_KEY must be 32 bytes in base64, for example of `openssl rand -base64 32`')
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 8), bytes }
}

function keyFile(dataDir: string): string {
  const file = join(dataDir, 'secrets.key')
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  return readFileSync(file, 'utf8')
}
