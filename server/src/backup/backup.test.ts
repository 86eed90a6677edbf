import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig, type Config } from '../config/config.ts'
import { openKeyRing } from '../sealing/key-ring.ts'
import { lockInstallation } from '../installation/installation-lock.ts'
import { openApp } from '../startup/open-app.ts'
import { findConfirmedAccount } from '../modules/auth/index.ts'
import { startSession } from '../modules/auth/sessions.ts'
import { createUser } from '../modules/user/index.ts'
import { backUp } from './backup.ts'
import { createProgressReporter } from './progress.ts'
import { restore } from './restore.ts'

let folder: string
let file: string
let config: Config
/** The id of the original installation's key. */
let keyId: string

const configOf = (name: string, env: Record<string, string> = {}) =>
  loadConfig({ ...env, SHOAL_DATA_DIR: join(folder, name), SHOAL_RUNTIME: 'sim', SHOAL_LOG_LEVEL: 'silent' })
const otherKeySetting = { SHOAL_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') }
const silentOptions = () => ({ progress: createProgressReporter(() => {}), signal: new AbortController().signal })
const restoreBackup = (target: Config, more: Partial<Parameters<typeof restore>[1]> = {}) =>
  restore(target, { from: file, force: false, ...silentOptions(), ...more })

// Backs up a stopped installation with a user who has signed in.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-backup-'))
  chmodSync(folder, 0o755)
  config = configOf('original')
  const { app, close } = await openApp(config)
  try {
    const mira = { email: 'mira@acme.dev', fullName: 'Mira', password: 'correct-horse', emailVerified: true }
    const { id } = await createUser(app, mira)
    await startSession(app, app.db, id, { userAgent: null, ip: '127.0.0.1' })
  } finally {
    await close('stop')
  }
  keyId = openKeyRing({ dataDir: config.dataDir }).keys()[0].id
  file = join(folder, 'shoal.tar')
  await backUp(config, { to: file, withKeys: false, ...silentOptions() })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const hasDatabase = (target: Config) => existsSync(join(target.dataDir, 'postgres/data/PG_VERSION'))
const isRunning = (of: Config) => existsSync(join(of.dataDir, 'postgres/data/postmaster.pid'))

/** Creates a copy of the backup with changed bytes. */
function copyWithChange(change: (bytes: Buffer) => Buffer): string {
  const to = join(folder, 'changed.tar')
  writeFileSync(to, change(readFileSync(file)))
  return to
}
/** Creates a copy of the backup in which `to` replaces the text `from`. */
const copyWithText = (from: string, to: string) =>
  copyWithChange((bytes) => {
    expect(bytes.indexOf(from)).toBeGreaterThan(0)
    bytes.write(to, bytes.indexOf(from))
    return bytes
  })

test('a file that is damaged, truncated or not a backup is rejected before any change', async () => {
  const target = configOf('damaged')
  const middle = Math.floor(statSync(file).size / 2)
  const damagedFile = copyWithChange((bytes) => bytes.fill((bytes[middle] ?? 0) ^ 1, middle, middle + 1))
  await expect(restoreBackup(target, { from: damagedFile })).rejects.toThrow('is damaged')
  const truncatedFile = copyWithChange((bytes) => bytes.subarray(0, middle))
  await expect(restoreBackup(target, { from: truncatedFile })).rejects.toThrow('is truncated')
  const other = copyWithChange((bytes) => bytes.fill(0, 0, 6_000))
  await expect(restoreBackup(target, { from: other })).rejects.toThrow('is not a backup of Shoal')
  await expect(restoreBackup(target, { from: join(folder, 'none.tar') })).rejects.toThrow('There is no')
  expect(readdirSync(target.dataDir)).toEqual(['locks'])
})

test('a backup of another Postgres version, a newer Shoal or another platform is rejected', async () => {
  const target = configOf('unfit')
  const restoreWithText = (text: string, other: string) => restoreBackup(target, { from: copyWithText(text, other) })
  await expect(restoreWithText('"postgresMajor": 18', '"postgresMajor": 17')).rejects.toThrow(
    /includes Postgres 18, .* Restore it with/,
  )
  await expect(restoreWithText('"schema": "00', '"schema": "90')).rejects.toThrow(/newer Shoal .* Update Shoal first/)
  await expect(restoreWithText('"shoalVersion": "0.', '"shoalVersion": "9.')).rejects.toThrow('newer Shoal')
  await expect(restoreWithText(`"platform": "${process.platform}`, '"platform": "amiga')).rejects.toThrow(
    'same platform',
  )
  expect(existsSync(target.dataDir)).toBe(false)
})

test('a restore fails if there is existing data or a running server; --force moves existing data aside', async () => {
  const target = configOf('occupied')
  mkdirSync(join(target.dataDir, 'uploads'), { recursive: true })
  writeFileSync(join(target.dataDir, 'uploads/old'), 'old')
  await expect(restoreBackup(target)).rejects.toThrow('is not empty')
  const server = await lockInstallation(target, { exclusive: false, roles: ['api'] })
  await expect(restoreBackup(target, { force: true })).rejects.toThrow(`process ${process.pid}`)
  server.release()
  expect(readdirSync(target.dataDir)).toEqual(['locks', 'uploads'])

  const { movedAside, notes } = await restoreBackup(target, { force: true })
  expect(readFileSync(join(movedAside[0] ?? '', 'uploads/old'), 'utf8')).toBe('old')
  expect(readdirSync(target.dataDir).filter((name) => !name.startsWith('before-restore-'))).toEqual([
    'locks',
    'postgres',
    'postgres-squids',
  ])
  expect(notes).toMatchObject([expect.stringContaining(`are missing (${keyId})`)])
  expect(notes[0]).toContain(`put your copy at ${join(target.dataDir, 'secrets.key')}`)
  expect(isRunning(target)).toBe(false)
  await expect(openApp(target)).rejects.toThrow(`${join(target.dataDir, 'secrets.key')}: ${keyId}. Restore this`)
  expect(isRunning(target)).toBe(false)
})

test('existing keys are kept, and the restored server starts with them', async () => {
  const target = configOf('keys-first')
  mkdirSync(target.dataDir)
  const keys = readFileSync(join(config.dataDir, 'secrets.key'))
  writeFileSync(join(target.dataDir, 'secrets.key'), keys, { mode: 0o600 })
  expect((await restoreBackup(target)).notes).toEqual([])
  const { app, close } = await openApp(target)
  try {
    expect(await findConfirmedAccount(app.db, 'mira@acme.dev')).toMatchObject({ fullName: 'Mira' })
  } finally {
    await close('stop')
  }
})

test('a backup without the database of logs reports that it lacks the logs', async () => {
  const logs = { SHOAL_LOGS_DATABASE_URL: 'postgres://shoal:secret@logs.test/logs' }
  const to = join(folder, 'without-logs.tar')
  const { notes } = await backUp({ ...config, ...logs }, { to, withKeys: false, ...silentOptions() })
  expect(notes.join()).toContain('back it up there')
  expect(notes.join()).not.toContain('secret@')
})

test('a backup contains the keys only with --with-keys, and does not leave Postgres running', async () => {
  const withKeys = join(folder, 'with-keys.tar')
  const { notes } = await backUp(config, { to: withKeys, withKeys: true, ...silentOptions() })
  expect(notes[0]).toContain('anyone who can read it can read every secret')
  expect(isRunning(config)).toBe(false)
  const target = configOf('with-keys', otherKeySetting)
  const restoreNotes = (await restoreBackup(target, { from: withKeys })).notes
  expect(restoreNotes).toMatchObject([expect.stringContaining('add them to SHOAL_SECRETS_KEY')])
  expect(statSync(join(target.dataDir, 'secrets.key')).mode & 0o777).toBe(0o600)
  expect(openKeyRing({ dataDir: target.dataDir }).keys()[0].id).toBe(keyId)
})

test('a backup requires an installation, a new file outside its directory, and the embedded Postgres', async () => {
  const backUpTo = (path: string, of = config, withKeys = false) =>
    backUp(of, { to: join(folder, path), withKeys, ...silentOptions() })
  await expect(backUpTo('a.tar', configOf('none'))).rejects.toThrow('nothing to back up')
  await expect(backUpTo('shoal.tar')).rejects.toThrow('already exists')
  await expect(backUpTo('original/a.tar')).rejects.toThrow('is in the data directory')
  await expect(backUpTo('a.tar', configOf('original', otherKeySetting), true)).rejects.toThrow(
    'Keep a copy of that setting',
  )
  const external = configOf('original', { DATABASE_URL: 'postgres://shoal@127.0.0.1:1/none' })
  await expect(backUpTo('a.tar', external)).rejects.toThrow('pg_dump')
  await expect(restoreBackup(external)).rejects.toThrow('pg_restore')
  expect(existsSync(join(folder, 'a.tar'))).toBe(false)
})

test('an interrupted backup or restore leaves nothing behind', async () => {
  const interruption = new AbortController()
  const progress = createProgressReporter(() => interruption.abort(new Error('Interrupted')))
  const interrupted = { progress, signal: interruption.signal }
  await expect(backUp(config, { to: join(folder, 'b.tar'), withKeys: false, ...interrupted })).rejects.toThrow(
    'Interrupted',
  )
  expect(readdirSync(folder).filter((name) => name.startsWith('b.tar'))).toEqual([])
  expect(isRunning(config)).toBe(false)
  const target = configOf('interrupted')
  await expect(restoreBackup(target, interrupted)).rejects.toThrow('Interrupted')
  expect(hasDatabase(target)).toBe(false)
  expect(readdirSync(target.dataDir)).toEqual(['locks'])
})
