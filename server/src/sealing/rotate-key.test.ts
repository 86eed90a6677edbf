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
  const listedColumns = sealedColumns.filter(({ field }) => field === undefined).map((p) => `${p.table}.${p.column}`)
  expect(listedColumns.sort()).toEqual(rows.map(({ name }) => name))
})

test('all values are resealed while a server is running, and then the old key can be dropped', async () => {
  const worker = t.startWorker()
  try {
    const { org, api, deployAndWait } = await t.deployer()
    const params = { code: org.code }
    const setSecret = (value: string) =>
      api.secrets.change({ params, body: { secrets: [{ action: 'UPDATE', name: 'KEY', value }] } })
    await setSecret('the first value')
    await setSecret('the second value')
    const { token } = await api.rpc.getToken({ params })
    await deployAndWait({ env: { KEY: '${{ secrets.KEY }}' } }, { slot: 'v1' })
    const [before = ''] = keysInFile()

    const { key, oldKeys } = await rotateKey(t.app)
    expect(keysInFile()).toHaveLength(2)
    expect(keysInFile()[1]).toBe(before)
    expect(oldKeys).toHaveLength(1)
    // From then on, the running server seals with the new key.
    await setSecret('the third value')
    expect(await dropOldKeys(t.app)).toEqual({ key, dropped: oldKeys })
    expect(keysInFile()).toHaveLength(1)
    expect(keysInFile()).not.toContain(before)

    expect(await readSecrets(t.app, org.id)).toEqual({ KEY: 'the third value' })
    expect(await api.rpc.getToken({ params })).toEqual({ token })
    const restart = await api.squids.restart({ params: { ...params, reference: 'test-squid@v1' } })
    expect((await t.deployer(org).then((d) => d.waitForEnd(restart))).failed).toBe('NO')
    await expect(api.user.get({})).resolves.toMatchObject({ email: org.admin.email })
  } finally {
    await worker.close()
  }
})

test('a key that is still in use is not dropped, and an interrupted rotation is completed', async () => {
  const ring = openKeyRing({ dataDir: t.app.config.dataDir })
  const [oldKey] = ring.keys()
  const [newestKey] = openKeyRing({ keys: Buffer.alloc(32, 7).toString('base64'), dataDir: '' }).keys()
  ring.write([newestKey, oldKey])
  await expect(dropOldKeys(t.app)).rejects.toThrow('Run secrets rotate-key first')
  expect(await rotateKey(t.app)).toMatchObject({ key: newestKey.id, oldKeys: [oldKey.id] })
  expect(await dropOldKeys(t.app)).toEqual({ key: newestKey.id, dropped: [oldKey.id] })
})

test('if the keys are in the environment, the rotation fails with instructions for the operator', async () => {
  const keys = Buffer.alloc(32, 7).toString('base64')
  const app = { ...t.app, config: { ...t.app.config, SHOAL_SECRETS_KEY: keys } }
  await expect(rotateKey(app)).rejects.toThrow(/SHOAL_SECRETS_KEY=<new>,<old>.*[\w+/]{43}=$/)
  const newKey = Buffer.alloc(32, 8).toString('base64')
  const appWithBothKeys = { ...t.app, config: { ...t.app.config, SHOAL_SECRETS_KEY: `${newKey},${keys}` } }
  const { resealed } = await rotateKey(appWithBothKeys)
  expect(resealed).toBeGreaterThan(0)
  const sealerWithNewKey = createSealer({ keys: newKey, dataDir: '' })
  const { rows } = await t.app.database.pool.query<{ sealed_key: string }>(
    "select sealed_key from signing_keys where purpose = 'session'",
  )
  expect(sealerWithNewKey.open(rows[0]?.sealed_key ?? '', 'signing-key:session')).toHaveLength(44)
})
