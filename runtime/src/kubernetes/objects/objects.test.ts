import { describe, expect, test } from 'vitest'
import type { ContainerSpec, Workload } from '../../driver.ts'
import { containerObjectName, labelValue, namespaceOf, podContainerName } from '../names.ts'
import { type TenantOptions, tenantObjects } from './tenant-objects.ts'
import { type WorkloadOptions, anchorObject, programObject, secretObject, desiredStateOf } from './workload-objects.ts'

const tenantOptions: TenantOptions = {
  installation: '3f9a01bc',
  quota: { pods: '50', 'limits.cpu': '32', 'limits.memory': '64Gi', 'count/jobs.batch': '100' },
  registryAuth: '{"auths":{}}',
  ingressFrom: [{ namespace: 'shoal' }, { cidr: '192.168.7.20' }],
  egressTo: [
    { cidr: '10.0.0.5', port: 5432 },
    { cidr: '10.2.0.0/16', port: null },
    { namespace: 'shoal-postgres', port: 5432 },
  ],
}

const options: WorkloadOptions = {
  installation: '3f9a01bc',
  cpuRequestRatio: 0.25,
  runtimeClass: 'gvisor',
  containerDiskBytes: 2 ** 30,
}

const container = (name: string, overrides: Partial<ContainerSpec>): ContainerSpec => ({
  name,
  command: ['sqd', name],
  env: { DB_PASS: 'secret', PATH: '/own', NODE_OPTIONS: '--no-warnings' },
  resources: { cpuCores: 0.2, memoryBytes: 256 * 2 ** 20 },
  restart: 'on-failure',
  ports: [3000],
  stopGraceMs: 5000,
  ...overrides,
})

const workload: Workload = {
  id: '12.3',
  tenant: '7',
  version: '12',
  image: `registry.example.com/o7@sha256:${'0'.repeat(64)}`,
  containers: [
    container('init', { restart: 'never', ports: [] }),
    container('api', { restart: 'always', ports: [4350], stopGraceMs: 30_000 }),
    container('hasura', {
      command: [],
      provided: { image: 'registry.example.com/hasura/graphql-engine:v2' },
      env: { HASURA_GRAPHQL_ADMIN_SECRET: 'secret', HASURA_GRAPHQL_SERVER_PORT: '8080' },
      restart: 'always',
      ports: [8080],
      stopGraceMs: 30_000,
    }),
    container('processor', {}),
  ],
}

const textOf = (objects: object) => `${JSON.stringify(objects, null, 2)}\n`

describe('objects', () => {
  test('a tenant has a namespace with a policy, a quota and default limits', () =>
    expect(textOf(tenantObjects(tenantOptions, '7'))).toMatchFileSnapshot('golden/tenant.golden'))

  test('a workload has an anchor, and a Secret and a Job or Deployment for each container', async () => {
    const desired = desiredStateOf(workload)
    await expect(textOf(anchorObject(options, desired))).toMatchFileSnapshot('golden/anchor.golden')
    for (const [index, spec] of workload.containers.entries()) {
      const program = desired.containers[index]
      const objects = [secretObject(options, workload, spec, 'anchor-uid')]
      if (program) objects.push(programObject(options, desired, program, 'anchor-uid'))
      await expect(textOf(objects)).toMatchFileSnapshot(`golden/${spec.name}.golden`)
    }
  })

  test('disabled settings result in no objects or fields', () => {
    const [spec] = desiredStateOf(workload).containers
    const plain = { ...options, runtimeClass: null, containerDiskBytes: 0 }
    const text = JSON.stringify(spec && programObject(plain, desiredStateOf(workload), spec, 'anchor-uid'))
    expect(text).not.toMatch(/runtimeClassName|sizeLimit|ephemeral-storage/)
    const tenant = tenantObjects({ ...tenantOptions, registryAuth: null, ingressFrom: [] }, '7')
    expect(tenant.map(({ kind }) => kind)).not.toContain('Secret')
    // A rule without sources would allow all of them.
    expect(JSON.stringify(tenant)).toContain('"ingress":[]')
  })

  test('an address without a range matches this address only', () => {
    const egressTo = ['10.0.0.5', 'fd00::5'].map((cidr) => ({ cidr, port: 5432 }))
    const text = JSON.stringify(
      tenantObjects({ ...tenantOptions, ingressFrom: [{ cidr: '2001:db8::7' }], egressTo }, '7'),
    )
    for (const cidr of ['10.0.0.5/32', 'fd00::5/128', '2001:db8::7/128']) expect(text).toContain(`"cidr":"${cidr}"`)
  })

  test('the replicas of a program prefer different nodes', () => {
    const api = { restart: 'always' as const, ports: [4350] }
    const replicated = desiredStateOf({
      ...workload,
      containers: [...workload.containers, container('api-2', api)],
    })
    const constraintsOf = (name: string) => {
      const spec = replicated.containers.find((other) => other.name === name)
      if (!spec) throw new Error(`The workload has no container ${name}`)
      const object = programObject(options, replicated, spec, 'anchor-uid')
      const { template } = object['spec'] as { template: { spec: { topologySpreadConstraints?: unknown } } }
      return template.spec.topologySpreadConstraints
    }
    const spread = [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: {
          matchLabels: { 'shoal.dev/workload': '12.3' },
          matchExpressions: [{ key: 'shoal.dev/container', operator: 'In', values: ['api', 'api-2'] }],
        },
      },
    ]
    expect(constraintsOf('api')).toEqual(spread)
    expect(constraintsOf('api-2')).toEqual(spread)
    for (const name of ['init', 'hasura', 'processor']) expect(constraintsOf(name)).toBeUndefined()
  })

  test('only Secrets contain secrets', () => {
    const desired = desiredStateOf(workload)
    const others = [
      anchorObject(options, desired),
      ...desired.containers.map((spec) => programObject(options, desired, spec, 'u')),
    ]
    expect(JSON.stringify(others)).not.toContain('secret"')
    expect(JSON.stringify(others)).not.toContain(Buffer.from('secret').toString('base64'))
  })
})

describe('names', () => {
  const [, api] = workload.containers
  const nameOf = (change: Partial<ContainerSpec>, overrides: Partial<Workload> = {}) =>
    containerObjectName({ ...workload, ...overrides }, { ...(api as ContainerSpec), ...change })

  test('of a container change when it requires a new run, and only then', () => {
    expect(nameOf({})).toBe(nameOf({ stopGraceMs: 1 }))
    const reordered = Object.fromEntries(Object.entries(api?.env ?? {}).toReversed())
    expect(nameOf({ env: reordered })).toBe(nameOf({}))
    const changes = [{ command: ['x'] }, { env: {} }, { ports: [1] }, { resources: { cpuCores: 1, memoryBytes: 1 } }]
    const names = [nameOf({}), nameOf({}, { image: 'other' }), ...changes.map((change) => nameOf(change))]
    expect(new Set(names).size).toBe(names.length)
  })

  test('are valid for any workload and container', () => {
    const texts = ['a', 'Ä', 'a/b', '-x-', 'x'.repeat(63), 'Über.'.repeat(40), '12.3']
    for (const text of texts) {
      const name = containerObjectName({ ...workload, id: text }, { ...(api as ContainerSpec), name: text })
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
      expect(namespaceOf(text, text)).toMatch(/^[a-z0-9]([-a-z0-9]{0,100}[a-z0-9])?$/)
      expect(labelValue(text)).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/)
      expect(podContainerName(text)).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
    }
  })
})
