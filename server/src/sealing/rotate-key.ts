import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../app.ts'
import { newKey, openKeyRing, type Key, type KeyRing } from './key-ring.ts'
import { mailContext } from '../mail/index.ts'
import { channelUrlContext, signingSecretContext } from '../modules/alerts/index.ts'
import { signingKeyContext } from '../modules/auth/index.ts'
import { sealedCertificateColumns } from '../modules/certificates/index.ts'
import { rpcTokenContext } from '../modules/rpc/index.ts'
import { secretContext } from '../modules/secrets/index.ts'
import { passwordContext } from '../modules/databases/index.ts'
import { workloadContext } from '../modules/versions/index.ts'
import { createSealer, sealedPrefix } from './sealer.ts'
import { listSealedWithOldKeys, replaceSealed, type SealedColumn } from './sealed-column-store.ts'

const contextOfSecret = ([orgId = '', name = '']: string[]) => secretContext(Number(orgId), name)
const contextOfWorkload = ([squidId = '']: string[]) => workloadContext(Number(squidId))

/** All columns of the database with sealed values. A test detects missing ones. */
export const sealedColumns: SealedColumn[] = [
  { table: 'secrets', key: ['org_id', 'name'], column: 'sealed_value', contextOf: contextOfSecret },
  { table: 'retired_secrets', key: ['org_id', 'name', 'id'], column: 'sealed_value', contextOf: contextOfSecret },
  {
    table: 'rpc_tokens',
    key: ['org_id'],
    column: 'sealed',
    contextOf: ([orgId = '']) => rpcTokenContext(Number(orgId)),
  },
  { table: 'squids', key: ['id'], column: 'sealed_workload', contextOf: contextOfWorkload },
  {
    table: 'deployments',
    key: ['squid_id', 'id'],
    column: 'notes',
    field: 'sealedWorkload',
    contextOf: contextOfWorkload,
  },
  {
    table: 'squid_databases',
    key: ['squid_id'],
    column: 'sealed_password',
    contextOf: ([id = '']) => passwordContext(Number(id), 'owner'),
  },
  {
    table: 'squid_databases',
    key: ['squid_id'],
    column: 'sealed_read_password',
    contextOf: ([id = '']) => passwordContext(Number(id), 'reader'),
  },
  {
    table: 'squid_logins',
    key: ['squid_id', 'id'],
    column: 'sealed_password',
    contextOf: ([id = '']) => passwordContext(Number(id), 'login'),
  },
  { table: 'mails', key: ['to', 'id'], column: 'sealed_body', contextOf: ([to = '']) => mailContext(to) },
  {
    table: 'signing_keys',
    key: ['purpose'],
    column: 'sealed_key',
    contextOf: ([purpose = '']) => signingKeyContext(purpose),
  },
  {
    table: 'alert_channels',
    key: ['id'],
    column: 'sealed_url',
    contextOf: ([id = '']) => channelUrlContext(Number(id)),
  },
  {
    table: 'alert_channels',
    key: ['id'],
    column: 'sealed_signing_secret',
    contextOf: ([id = '']) => signingSecretContext(Number(id)),
  },
  ...sealedCertificateColumns,
]

const batchSize = 500
/** Delay before the second pass. During this time, running servers store the values that they have just sealed with the old key. */
const settleMs = 2_000

type Rotation = { key: string; resealed: number; oldKeys: string[] }

/**
 * Reseals all values with a new key. Servers may be running: they read the new key from the file, and can open values of both keys.
 * Keys in SHOAL_SECRETS_KEY are changed by the operator; values are then resealed with the first key.
 * @returns the id of the new key, the number of resealed values, and the ids of the old keys, which the database no longer needs
 */
export async function rotateKey(app: App): Promise<Rotation> {
  const ring = openKeyRing({ keys: app.config.SHOAL_SECRETS_KEY, dataDir: app.config.dataDir })
  const isInterrupted = ring.keys().length > 1 && (await needsOldKeys(app, ring))
  if (!isInterrupted) ring.write([newKey(), ...ring.keys()])
  let resealed = await resealAll(app, ring)
  await sleep(settleMs)
  resealed += await resealAll(app, ring)
  const [newest, ...old] = ring.keys()
  return { key: newest.id, resealed, oldKeys: old.map(({ id }) => id) }
}

/**
 * Removes the old keys from the file. Older backups need them: keep a copy, or make a new backup first.
 * @throws Error while a value in the database is sealed with an old key
 */
export async function dropOldKeys(app: App): Promise<{ key: string; dropped: string[] }> {
  const ring = openKeyRing({ keys: app.config.SHOAL_SECRETS_KEY, dataDir: app.config.dataDir })
  const [newest, ...old] = ring.keys()
  if (await needsOldKeys(app, ring))
    throw new Error('Values in the database still need an old key. Run secrets rotate-key first.')
  if (old.length > 0) ring.write([newest])
  return { key: newest.id, dropped: old.map(({ id }: Key) => id) }
}

async function needsOldKeys(app: App, ring: KeyRing): Promise<boolean> {
  const prefix = sealedPrefix(ring.keys()[0].id)
  for (const column of sealedColumns)
    if ((await listSealedWithOldKeys(app.database, column, prefix, 1)).length > 0) return true
  return false
}

async function resealAll(app: App, ring: KeyRing): Promise<number> {
  const sealer = createSealer({ ring })
  const prefix = sealedPrefix(ring.keys()[0].id)
  let resealed = 0
  for (const column of sealedColumns) {
    for (let batchLength = batchSize; batchLength === batchSize;) {
      const values = await listSealedWithOldKeys(app.database, column, prefix, batchSize)
      for (const value of values) {
        const context = column.contextOf(value.key)
        await replaceSealed(app.database, column, value, sealer.seal(sealer.open(value.sealed, context), context))
      }
      batchLength = values.length
      resealed += values.length
    }
  }
  return resealed
}
