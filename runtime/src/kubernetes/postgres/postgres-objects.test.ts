import { expect, test } from 'vitest'
import { type ClusterPostgres, postgresObjects } from './postgres-objects.ts'
import { postgresState } from './postgres-state.ts'

const server: ClusterPostgres = {
  name: 'dedicated',
  namespace: 'shoal-postgres',
  password: 'secret',
  cpuCores: 4,
  memoryBytes: 4 * 2 ** 30,
  storageBytes: 100 * 2 ** 30,
  storageClass: 'fast',
  maxConnections: 160,
  instances: 2,
  objectStore: 'backups',
}

const textOf = (objects: object) => `${JSON.stringify(objects, null, 2)}\n`

test('a server has a password, a Cluster with the size of its profile, and a backup each day', () =>
  expect(textOf(postgresObjects(server))).toMatchFileSnapshot('golden/postgres.golden'))

test('a server without backups has the default storage class', () =>
  expect(
    textOf(postgresObjects({ ...server, instances: 1, storageClass: null, objectStore: null })),
  ).toMatchFileSnapshot('golden/postgres-without-backups.golden'))

const metadata = { name: 'dedicated', uid: '1', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }
const ready = { type: 'Ready', status: 'True' } as const

test.each([
  ['missing', null, 'It does not exist in the cluster'],
  ['waiting', {}, 'CloudNativePG has not noticed it yet; check that its operator runs'],
  [
    'waiting',
    { phase: 'Setting up primary', phaseReason: 'Creating primary instance' },
    'Setting up primary: Creating primary instance',
  ],
  [
    'waiting',
    { phase: 'Cluster in healthy state', conditions: [{ ...ready, status: 'False' as const }] },
    'Cluster in healthy state',
  ],
  ['failed', { phase: 'Not enough disk space', conditions: [ready] }, 'Not enough disk space'],
  [
    'ready',
    { phase: 'Cluster in healthy state', readyInstances: 2, conditions: [ready] },
    '2 of 2 instances are ready',
  ],
])('a Cluster is %s if its status is %j', (state, status, sentence) => {
  const cluster = status && { metadata, spec: { instances: 2 }, status }
  expect(postgresState(cluster)).toEqual({ state, sentence, backupProblem: null })
})

test('a Cluster that is ready may have backups that fail', () => {
  const archiving = { type: 'ContinuousArchiving', status: 'False', message: 'access denied' } as const
  const status = { phase: 'Cluster in healthy state', conditions: [ready, archiving] }
  expect(postgresState({ metadata, status })).toMatchObject({ state: 'ready', backupProblem: 'access denied' })
})

test('a Cluster that is being deleted is not ready', () => {
  const deleted = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' }
  const status = { phase: 'Cluster in healthy state', conditions: [ready] }
  expect(postgresState({ metadata: deleted, status })).toMatchObject({
    state: 'waiting',
    sentence: 'It is being deleted',
  })
})
