import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openClusterPostgres } from '@shoal/runtime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiServer, startApiServer } from '../../scripts/kubernetes/api-server.ts'
import { goModule } from '../../scripts/kubernetes/go-module.ts'
import { kubectl } from '../support/kubernetes.ts'

const kube = process.env['SHOAL_TEST_KUBE']
const hasGo = process.env['SHOAL_TEST_GO'] !== undefined

const serverName = { name: 'dedicated', namespace: 'default' }
const server = {
  ...serverName,
  password: 'secret',
  cpuCores: 4,
  memoryBytes: 4 * 2 ** 30,
  storageBytes: 100 * 2 ** 30,
  storageClass: 'fast',
  maxConnections: 160,
  instances: 2,
  objectStore: 'backups',
}

/** Tests Shoal's objects for CloudNativePG on a real API server with the custom resource definitions of CloudNativePG. Its controller does not run, because its image is not available; the test writes the status instead. */
describe.skipIf(!kube || !hasGo)('Postgres servers by CloudNativePG', () => {
  let api: ApiServer
  let postgres: Awaited<ReturnType<typeof openClusterPostgres>>

  const onServer = (args: string[], input?: string) => kubectl(['--kubeconfig', api.kubeconfig, ...args], input)
  const read = async (kind: string) =>
    JSON.parse(await onServer(['get', kind, serverName.name, '-o', 'json'])) as {
      metadata: { generation: number }
      spec: Record<string, unknown>
    }
  /** Returns the names of the objects that are not being deleted. Deleted objects remain here, because no controller completes a deletion in the foreground. */
  const keptObjects = async (kind: string) => {
    const { items } = JSON.parse(await onServer(['get', kind, '-o', 'json'])) as {
      items: { metadata: { name: string; deletionTimestamp?: string } }[]
    }
    return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name)
  }
  const setStatus = async (status: object) => {
    const patch = JSON.stringify({ status })
    await onServer([
      'patch',
      'clusters.postgresql.cnpg.io',
      serverName.name,
      '--subresource=status',
      '--type=merge',
      '-p',
      patch,
    ])
  }

  beforeAll(async () => {
    api = await startApiServer(kube ?? '')
    postgres = await openClusterPostgres(api.kubeconfig)
  }, 180_000)

  afterAll(async () => {
    postgres?.close()
    await api?.end()
  })

  test('without CloudNativePG in the cluster, the error says so', async () => {
    await expect(postgres.apply(server)).rejects.toThrow('The cluster does not have CloudNativePG')
    await expect(postgres.read(serverName)).rejects.toThrow('The cluster does not have CloudNativePG')
    await expect(postgres.remove(serverName)).rejects.toThrow('The cluster does not have CloudNativePG')
    expect(await onServer(['get', 'secrets', '-o', 'name'])).toBe('')
  })

  test(
    'with the definitions, the API server accepts the objects, and a repeated request changes nothing',
    { timeout: 300_000 },
    async () => {
      const folder = join(await goModule('github.com/cloudnative-pg/cloudnative-pg', 'v1.30.0'), 'config/crd/bases')
      const definitions = readdirSync(folder).filter((file) => /_(clusters|scheduledbackups)\.yaml$/.test(file))
      for (const file of definitions) await onServer(['apply', '--server-side', '-f', join(folder, file)])
      await onServer(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=50s'])
      await expect.poll(() => postgres.apply(server).then(() => 'applied', String), { timeout: 60_000 }).toBe('applied')
      const cluster = await read('clusters.postgresql.cnpg.io')
      expect(cluster.spec).toMatchObject({
        instances: 2,
        superuserSecret: { name: 'dedicated-shoal' },
        resources: { limits: { cpu: '4000m', memory: '4096Mi' } },
        plugins: [{ name: 'barman-cloud.cloudnative-pg.io', isWALArchiver: true }],
      })
      expect((await read('scheduledbackups.postgresql.cnpg.io')).spec).toMatchObject({ method: 'plugin' })
      await postgres.apply(server)
      expect((await read('clusters.postgresql.cnpg.io')).metadata.generation).toBe(cluster.metadata.generation)
    },
  )

  test('the objects have only fields of the definitions: strict validation accepts them, and refuses any other field', async () => {
    const [cluster, backup] = await Promise.all(
      ['clusters', 'scheduledbackups'].map((kind) =>
        onServer(['get', `${kind}.postgresql.cnpg.io`, serverName.name, '-o', 'json', '--show-managed-fields=false']),
      ),
    )
    for (const object of [cluster, backup])
      await onServer(['replace', '--validate=strict', '--dry-run=server', '-f', '-'], object)
    const wrong = cluster?.replace('"instances"', '"instanceCount": 2, "instances"')
    await expect(onServer(['replace', '--validate=strict', '--dry-run=server', '-f', '-'], wrong)).rejects.toThrow(
      'instanceCount',
    )
  })

  test('a server that others created is neither changed nor deleted', async () => {
    const other = { ...server, name: 'foreign' }
    const spec = { instances: 1, storage: { size: '1Gi' } }
    const object = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', metadata: { name: other.name }, spec }
    await onServer(['create', '-f', '-'], JSON.stringify(object))
    await expect(postgres.apply(other)).rejects.toThrow('Shoal did not create the Postgres server default/foreign')
    await expect(postgres.remove(other)).rejects.toThrow('Shoal did not create the Postgres server default/foreign')
    const output = 'jsonpath={.spec.instances}{.metadata.deletionTimestamp}'
    expect(await onServer(['get', 'clusters.postgresql.cnpg.io', other.name, '-o', output])).toBe('1')
    await expect(onServer(['get', 'secret', 'foreign-shoal'])).rejects.toThrow('not found')
    await onServer(['delete', 'clusters.postgresql.cnpg.io', other.name, '--wait=false'])
  })

  test('the state follows the status that CloudNativePG writes', async () => {
    expect(await postgres.read(serverName)).toMatchObject({
      state: 'waiting',
      sentence: expect.stringContaining('not noticed'),
    })
    await setStatus({ phase: 'Setting up primary', phaseReason: 'Creating primary instance dedicated-1' })
    expect(await postgres.read(serverName)).toMatchObject({
      state: 'waiting',
      sentence: 'Setting up primary: Creating primary instance dedicated-1',
    })
    const at = '2026-01-01T00:00:00Z'
    const condition = (type: string, status: string, message = '') => ({
      type,
      status,
      message,
      reason: 'ByTest',
      lastTransitionTime: at,
    })
    await setStatus({
      phase: 'Cluster in healthy state',
      phaseReason: null,
      readyInstances: 2,
      conditions: [condition('Ready', 'True'), condition('ContinuousArchiving', 'False', 'access denied')],
    })
    expect(await postgres.read(serverName)).toEqual({
      state: 'ready',
      sentence: '2 of 2 instances are ready',
      backupProblem: 'access denied',
    })
    await setStatus({ phase: 'Not enough disk space', conditions: [condition('Ready', 'False')] })
    expect(await postgres.read(serverName)).toMatchObject({ state: 'failed', sentence: 'Not enough disk space' })
  })

  test('the server can be reduced and lose its backups, and is deleted with its password and schedule', async () => {
    await postgres.apply({ ...server, cpuCores: 1, instances: 1, objectStore: null })
    const { spec } = await read('clusters.postgresql.cnpg.io')
    expect(spec).toMatchObject({ instances: 1, resources: { limits: { cpu: '1000m' } } })
    expect(spec['plugins']).toBeUndefined()
    expect(await keptObjects('scheduledbackups.postgresql.cnpg.io')).toEqual([])
    await postgres.remove(serverName)
    expect(await keptObjects('clusters.postgresql.cnpg.io,secrets')).toEqual([])
    await postgres.remove(serverName)
  })
})
