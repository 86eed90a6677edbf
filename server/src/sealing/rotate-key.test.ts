import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openKeyRing } from './key-ring.ts'
import { readSecrets } from '../modules/secrets/index.ts'
import { createSealer } from './sealer.ts'
import { startDeployApp, type DeployApp } from '../modules/deployments/testing/deploy-app.ts'
import { dropOldKeys, rotateKey, sealedColumns } from './rotate-key.ts'

let t: DeployApp
beforeAll(async () => {
  t = await startDeployApp()
})
afterAll(() => t?.close())

const keysInFile = () => readFileSync(join(t.app.config.dataDir, 'secrets.key'), 'utf8').trim().split('\n')

test('every column of sealed values is listed', async () => {
  const { rows } = await t.app.database.pool.query<{ name: string }>(
    "select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'public' and column_name ~ '^sealed' order by 1",
  )
  const known = sealedColumns.filter(({ field }) => field === undefined).map((p) => `${p.table}.${p.column}`)
  expect(known.sort()).toEqual(rows.map(({ name }) => name))
})

test('all values are resealed beside a running server, and then the old key can be dropped', async () => {
  const worker = t.work()
  try {
    const { org, api, deployed } = await t.deployer()
    const params = { code: org.code }
    const set = (value: string) =>
      api.secrets.change({ params, body: { secrets: [{ action: 'UPDATE', name: 'KEY', value }] } })
    await set('the first value')
    await set('the second value')
    const { token } = await api.rpc.getToken({ params })
    await deployed({ env: { KEY: '${{ secrets.KEY }}' } }, { slot: 'v1' })
    const [before = ''] = keysInFile()

    const { key, oldKeys } = await rotateKey(t.app)
    expect(keysInFile()).toHaveLength(2)
    expect(keysInFile()[1]).toBe(before)
    expect(oldKeys).toHaveLength(1)
    // The running server seals with the new key from now on.
    await set('the third value')
    expect(await dropOldKeys(t.app)).toEqual({ key, dropped: oldKeys })
    expect(keysInFile()).toHaveLength(1)
    expect(keysInFile()).not.toContain(before)

    expect(await readSecrets(t.app, org.id)).toEqual({ KEY: 'the third value' })
    expect(await api.rpc.getToken({ params })).toEqual({ token })
    const restart = await api.squids.restart({ params: { ...params, reference: 'test-squid@v1' } })
    expect((await t.deployer(org).then((d) => d.ended(restart))).failed).toBe('NO')
    await expect(api.user.get({})).resolves.toMatchObject({ email: org.admin.email })
  } finally {
    await worker.close()
  }
})

test('a key that is still in use is not dropped, and an interrupted rotation is completed', async () => {
  const ring = openKeyRing({ dataDir: t.app.config.dataDir })
  const [old] = ring.keys()
  const [added] = openKeyRing({ keys: Buffer.alloc(32, 7).toString('base64'), dataDir: '' }).keys()
  ring.write([added, old])
  await expect(dropOldKeys(t.app)).rejects.toThrow('Run secrets rotate-key first')
  expect(await rotateKey(t.app)).toMatchObject({ key: added.id, oldKeys: [old.id] })
  expect(await dropOldKeys(t.app)).toEqual({ key: added.id, dropped: [old.id] })
})

test('keys in the environment are left to the operator, with instructions', async () => {
  const keys = Buffer.alloc(32, 7).toString('base64')
  const app = { ...t.app, config: { ...t.app.config, SHOAL_SECRETS_KEY: keys } }
  await expect(rotateKey(app)).rejects.toThrow(/SHOAL_SECRETS_KEY=<new>,<old>.*[\w+/]{43}=$/)
  const next = Buffer.alloc(32, 8).toString('base64')
  const both = { ...t.app, config: { ...t.app.config, SHOAL_SECRETS_KEY: `${next},${keys}` } }
  const { resealed } = await rotateKey(both)
  expect(resealed).toBeGreaterThan(0)
  const after = createSealer({ keys: next, dataDir: '' })
  const { rows } = await t.app.database.pool.query<{ sealed_key: string }>(
    "select sealed_key from signing_keys where purpose = 'session'",
  )
  expect(after.open(rows[0]?.sealed_key ?? '', 'signing-key:session')).toHaveLength(44)
})
