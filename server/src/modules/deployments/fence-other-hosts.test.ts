import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { singleHost } from '../../db/database-hosts.ts'
import { claimHost, releaseHost } from '../../installation/host-claim.ts'
import { openWorkload, selectSquid } from '../versions/index.ts'
import { fenceOtherHosts } from './fence-other-hosts.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
const clients: Client[] = []
beforeEach(async () => {
  t = await startDeployApp()
  d = await t.deployer()
  await claimHost(t.app)
  await fenceOtherHosts(t.app)
})
afterEach(async () => {
  await Promise.allSettled(clients.splice(0).map((client) => client.end()))
  await t?.close()
})

const env = { OWN_URL: '${{ addons.postgres.url }}' }

/** Deploys a version to the slot; returns its id and a session of its processor. */
async function deploy(slot: string) {
  const { squid } = await t.withWorker(() => d.deployAndWait({ env }, { slot }))
  const id = squid?.id ?? 0
  return { id, session: await signIn(id) }
}

/** The environment of the processor that the next worker starts. */
async function environment(id: number): Promise<Record<string, string>> {
  const squid = await selectSquid(t.app.db, id)
  const { containers } = openWorkload(t.app.sealer, id, squid?.sealedWorkload ?? '')
  return containers.find(({ name }) => name === 'processor')?.env ?? {}
}

async function signIn(id: number): Promise<Client> {
  const client = new Client({ connectionString: (await environment(id))['OWN_URL'] })
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

/** Does what the worker of another host does when it starts. */
async function takeOver(): Promise<void> {
  await releaseHost(t.app)
  await claimHost(t.app)
  await fenceOtherHosts(t.app)
}

test('when another host takes over the squids, programs on the first can no longer write, and those of the second can', async () => {
  const [one, two] = [await deploy('v1'), await deploy('v2')]
  await one.session.query('create table blocks (height int)')
  await one.session.query('begin')
  await one.session.query('insert into blocks values (1)')
  const old = await environment(one.id)
  await takeOver()
  for (const { session } of [one, two]) await expect(session.query('select 1')).rejects.toThrow()
  const client = new Client({ connectionString: old['DB_URL'] })
  client.on('error', () => {})
  await expect(client.connect()).rejects.toThrow('password authentication failed')
  const now = await environment(one.id)
  expect(now).toEqual({
    ...old,
    DB_PASS: now['DB_PASS'],
    DB_URL: now['OWN_URL'],
    OWN_URL: now['OWN_URL'],
  })
  expect((await (await signIn(one.id)).query('select * from blocks')).rows).toEqual([])
  await (await signIn(two.id)).query('select 1')
})

test('a worker that starts again on the same host changes nothing', async () => {
  const { id, session } = await deploy('v1')
  const before = await environment(id)
  await claimHost(t.app)
  await fenceOtherHosts(t.app)
  expect(await environment(id)).toEqual(before)
  await session.query('select 1')
})

test('after a worker was interrupted while it took over the databases, the next one completes it', async () => {
  const [one, two] = [await deploy('v1'), await deploy('v2')]
  const { DB_USER } = await environment(two.id)
  const { pool } = t.app.databaseHosts.get('main').cluster
  const connect = async () => {
    const client = await pool.connect()
    const query = async (text: string) => {
      if (text.startsWith(`alter role "${DB_USER}" password`)) throw new Error('connection lost')
      return await client.query(text)
    }
    return { query, release: () => client.release() }
  }
  const query = pool.query.bind(pool)
  const interrupted = {
    ...t.app,
    databaseHosts: singleHost({ ...t.app.databaseHosts.get('main').cluster, pool: { query, connect } as never }),
  }
  await releaseHost(t.app)
  await claimHost(t.app)
  await expect(fenceOtherHosts(interrupted)).rejects.toThrow('connection lost')
  await two.session.query('select 1')
  await fenceOtherHosts(t.app)
  for (const { id, session } of [one, two]) {
    await expect(session.query('select 1')).rejects.toThrow()
    await (await signIn(id)).query('select 1')
  }
})

test('a deployment that the other host has begun continues with the new password', async () => {
  const { id } = await deploy('v1')
  const squid = await selectSquid(t.app.db, id)
  const { pool } = t.app.database
  const notes = JSON.stringify({ sealedWorkload: squid?.sealedWorkload })
  await pool.query('update deployments set finished_at = null, notes = notes || $1::jsonb', [notes])
  await takeOver()
  const { rows } = await pool.query<{ sealed: string }>(`select notes->>'sealedWorkload' as sealed from deployments`)
  const [processor] = openWorkload(t.app.sealer, id, rows[0]?.sealed ?? '').containers.filter(
    ({ name }) => name === 'processor',
  )
  expect(processor?.env).toEqual(await environment(id))
})
