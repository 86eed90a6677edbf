import { createHash, randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { InvalidSettingError } from '../config/invalid-setting.ts'

export type Key = { id: string; bytes: Buffer; text: string }

/** The keys of the installation: values are sealed with the first key, and opened with the key they were sealed with. */
export type KeyRing = {
  /** Returns the current keys. A running server uses changes of the file immediately. */
  keys: () => [Key, ...Key[]]
  /** Replaces the keys in the file. @throws Error if the keys are in SHOAL_SECRETS_KEY, which only the operator can change */
  write: (keys: [Key, ...Key[]]) => void
}

export const keysFileName = 'secrets.key'

export const keysFile = ({ dataDir }: { dataDir: string }): string => join(dataDir, keysFileName)

/** Returns where the operator can edit the keys: the name of the setting or the path of the file. */
export const keysLocation = (config: Pick<Config, 'SHOAL_SECRETS_KEY' | 'dataDir'>): string =>
  config.SHOAL_SECRETS_KEY === undefined ? keysFile(config) : 'SHOAL_SECRETS_KEY'

/** Opens the keys of SHOAL_SECRETS_KEY (comma-separated, newest first), or of a file in the data directory, created on first use. */
export function openKeyRing(options: { keys?: string | undefined; dataDir: string }): KeyRing {
  return options.keys === undefined ? fileRing(keysFile(options)) : fixedRing(parse(options.keys, 'SHOAL_SECRETS_KEY'))
}

/** Generates a key. */
export const newKey = (): Key => toKey(randomBytes(32).toString('base64'), 'The new key')

function fixedRing(keys: [Key, ...Key[]]): KeyRing {
  const write = () => {
    throw new Error(
      `The keys are in SHOAL_SECRETS_KEY. Put a new key first, as in SHOAL_SECRETS_KEY=<new>,<old>, restart every server with this setting, and run this command again with the same setting. A newly generated key: ${newKey().text}`,
    )
  }
  return { keys: () => keys, write }
}

function fileRing(file: string): KeyRing {
  if (!existsSync(file)) createKeys(file)
  let cached: { fileVersion: string; keys: [Key, ...Key[]] } | null = null
  return {
    keys: () => {
      const { ino, mtimeMs, size } = statSync(file)
      const fileVersion = `${ino} ${mtimeMs} ${size}`
      if (cached?.fileVersion !== fileVersion) cached = { fileVersion, keys: parse(readFileSync(file, 'utf8'), file) }
      return cached.keys
    },
    write: (keys) => {
      // Renaming is atomic: a concurrent reader reads either the old or the new keys.
      writeFileSync(`${file}.new`, keys.map(({ text }) => `${text}\n`).join(''), { mode: 0o600 })
      renameSync(`${file}.new`, file)
    },
  }
}

/**
 * Creates the file with a new key, unless another process of the installation creates it first. Links a complete draft, so that no
 * process reads an incomplete file.
 */
function createKeys(file: string): void {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${newKey().text}\n`, { mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
}

/** Parses keys, newest first. `source`: the setting or file that contains them, for the error. @throws InvalidSettingError */
function parse(text: string, source: string): [Key, ...Key[]] {
  const [first, ...older] = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((key) => toKey(key, source))
  if (!first) throw new InvalidSettingError(`${source} contains no key.`)
  return [first, ...older]
}

function toKey(text: string, source: string): Key {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 32)
    throw new InvalidSettingError(
      `${source} must contain keys of 32 bytes in base64, for example from \`openssl rand -base64 32\`. (The value is not shown.)`,
    )
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 8), bytes, text }
}
