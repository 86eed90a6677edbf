import { Manifest } from '@subsquid/manifest'
import { expect, test, vi } from 'vitest'
import { evaluateEnvironments, secretNamesOf, UnknownSecrets } from './environment.ts'
import { InvalidManifest, parseManifest } from './manifest.ts'
import type { Sealer } from '../../sealing/sealer.ts'
import { parsePlan } from './plan.ts'
import { openWorkload } from '../versions/store.ts'
import { apiPath } from '../squids/urls.ts'
import { type HasuraProgram } from './hasura.ts'
import { isHasura } from '../containers.ts'
import { composeWorkload, pickContainers } from './workload.ts'
import { containerNames, isInit } from '../containers.ts'

const manifest = (deploy: string, rest = '') => `
manifest_version: subsquid.io/v0.1
name: my-squid
deploy:
${deploy.replaceAll(/^/gm, '  ')}
${rest}`

const ordinary = manifest(
  `addons:
  postgres:
  rpc: [eth.http, "arbitrum-one:http"]
env: {SHARED: all, RPC: "\${{ secrets.rpc_url }}", DB_PASS: mine}
init: {cmd: [npx, squid-typeorm-migration, apply], env: {WHO: init}}
api: {cmd: [sqd, "serve:prod"], env: {SHARED: api, GQL_PORT: "1"}}
processor:
  - {name: eth, cmd: [node, lib/eth.js], env: {URL: "\${{ addons.rpc.eth.http }}"}}
  - {name: base, cmd: [node, lib/base.js]}`,
  'scale: {dedicated: true, api: {replicas: 2, profile: medium}}',
)

const contexts = {
  squid: { id: 7, name: 'my-squid', slot: 'v1', reference: 'my-squid@v1', organization: 'acme' },
  addons: { rpc: { eth: { http: 'http://gateway/rpc/eth/t' }, 'arbitrum-one': { http: 'x' } } },
}

function errorOf(run: () => unknown): Error {
  try {
    run()
  } catch (error) {
    return error as Error
  }
  throw new Error('It did not fail')
}

test('a plan contains the values of the manifest, with defaults', () => {
  expect(parsePlan(parseManifest(ordinary))).toMatchObject({
    slot: null,
    isDedicated: true,
    init: { command: ['npx', 'squid-typeorm-migration', 'apply'] },
    api: { command: ['sqd', 'serve:prod'], replicas: 2, profile: 'medium' },
    processors: [
      { name: 'eth', command: ['node', 'lib/eth.js'] },
      { name: 'base', command: ['node', 'lib/base.js'] },
    ],
    processorProfile: 'small',
    postgres: { version: null, totalBytes: 10 * 2 ** 30, maxExternalConnections: null },
    rpc: ['eth.http', 'arbitrum-one.http'],
    build: { nodeVersion: '20', packageManager: 'auto', installCommand: null },
  })
})

test('version: N means slot vN, and init: false means no init', () => {
  const raw = manifest('addons: {postgres: {}}\ninit: false\nprocessor: {cmd: [node, x.js]}', 'version: 12')
  const plan = parsePlan(parseManifest(raw))
  expect(plan).toMatchObject({ slot: 'v12', init: null, api: null, isDedicated: false })
  expect(plan.processors).toEqual([{ name: 'processor', command: ['node', 'x.js'] }])
})

test('unknown keys are allowed; invalid manifests are rejected with a reason', () => {
  expect(() => parseManifest(manifest('processor: {cmd: [node], colour: red}', 'future: {a: 1}'))).not.toThrow()
  expect(() => parseManifest(manifest('api: {cmd: [node]}'))).toThrow('"deploy.processor" is required')
  expect(() => parseManifest('a: [1')).toThrow(InvalidManifest)
  expect(() => parseManifest(manifest('processor: [{name: api, cmd: [node]}]'))).toThrow('cannot be called "api"')
})

test('aliases that expand to billions of values are rejected immediately', () => {
  const levels = Array.from({ length: 12 }, (_, i) => `x${i + 1}: &x${i + 1} [${Array(9).fill(`*x${i}`).join(',')}]`)
  const bomb = `${ordinary}\nx0: &x0 [a]\n${levels.join('\n')}\n`
  expect(() => parseManifest(bomb)).toThrow('more than 5000 values')
  expect(() => parseManifest(`${ordinary}\nloop: &loop [*loop]\n`)).toThrow('more than 5000 values')
  expect(() => parseManifest(`${ordinary}\nlong: ${'x'.repeat(200_001)}\n`)).toThrow('larger than')
})

test('long lists are rejected, because the parser compares each of their items with many values', () => {
  const processors = Array.from({ length: 501 }, (_, i) => `{name: p${i}, cmd: [node]}`)
  expect(() => parseManifest(manifest(`processor: [${processors.join(', ')}]`))).toThrow('more than 500 items')
  expect(() => parseManifest(manifest(`processor: [${processors.slice(1).join(', ')}]`))).not.toThrow()
})

test('messages about invalid manifests have a maximum length', () => {
  const chains = Array.from({ length: 400 }, (_, i) => `unknown-${i}`)
  const error = errorOf(() =>
    parseManifest(manifest(`addons: {rpc: [${chains.join(', ')}]}\nprocessor: {cmd: [node]}`)),
  )
  expect(error).toBeInstanceOf(InvalidManifest)
  expect(error.message).toContain('must be one of')
  expect(error.message.length).toBeLessThanOrEqual(4_001)
})

test.each(['init', 'api', 'api-2', 'hasura', 'hasura-2', 'db', 'shoal'])('a processor cannot be called %s', (name) =>
  expect(() => parseManifest(manifest(`processor: [{name: ${name}, cmd: [node]}]`))).toThrow(
    `A processor cannot be called "${name}"`,
  ),
)

test('expressions are evaluated; a section overrides deploy.env; secret names are case-insensitive', () => {
  const environments = evaluateEnvironments(parseManifest(ordinary), { RPC_URL: 'http://rpc' }, contexts)
  expect(environments).toEqual({
    deploy: { SHARED: 'all', RPC: 'http://rpc', RPC_URL: 'http://rpc', DB_PASS: 'mine' },
    hasura: {},
    init: { WHO: 'init' },
    api: { SHARED: 'api', GQL_PORT: '1' },
    processors: { eth: { URL: 'http://gateway/rpc/eth/t' }, base: {} },
  })
  expect(secretNamesOf(parseManifest(ordinary), { RPC_URL: 'http://rpc' })).toEqual(['RPC_URL'])
})

test('every program receives every secret, unless the manifest sets the variable or its name is reserved', () => {
  const secrets = {
    KEY: 'of the organization',
    SHARED: 'of the organization',
    RPC_ETH_HTTP: 'http://mine',
    PATH: '/evil',
    NODE_OPTIONS: '--inspect',
    LD_PRELOAD: '/evil.so',
    GQL_PORT: '1',
    DB_SSL_CA: 'of another database',
  }
  const withAddon = manifest('addons: {postgres: {}}\nenv: {SHARED: own}\nprocessor: {cmd: [node]}')
  const expected = { KEY: 'of the organization', RPC_ETH_HTTP: 'http://mine', SHARED: 'own' }
  expect(evaluateEnvironments(parseManifest(withAddon), secrets, contexts).deploy).toEqual(expected)
  expect(secretNamesOf(parseManifest(withAddon), secrets)).toEqual(['KEY', 'RPC_ETH_HTTP'])
  const withoutAddon = manifest('env: {PATH2: "${{ secrets.PATH }}"}\nprocessor: {cmd: [node]}')
  // Without the addon, the squid uses its own database. Secrets that the manifest refers to are passed regardless of their names.
  expect(evaluateEnvironments(parseManifest(withoutAddon), secrets, contexts).deploy).toEqual({
    ...expected,
    SHARED: 'of the organization',
    DB_SSL_CA: 'of another database',
    PATH2: '/evil',
  })
  expect(secretNamesOf(parseManifest(withoutAddon), secrets)).toEqual([
    'DB_SSL_CA',
    'KEY',
    'PATH',
    'RPC_ETH_HTTP',
    'SHARED',
  ])
})

test('an unknown secret is reported by name, unless the expression has a fallback', () => {
  expect(() => evaluateEnvironments(parseManifest(ordinary), {}, contexts)).toThrow(new UnknownSecrets(['RPC_URL']))
  const fallback = manifest('env: {A: "${{ secrets.NONE || \'x\' }}"}\nprocessor: {cmd: [node]}')
  expect(evaluateEnvironments(parseManifest(fallback), {}, contexts).deploy).toEqual({ A: 'x' })
  const both = manifest(
    'env: {A: "${{ secrets.NONE || \'x\' }}", B: "${{ secrets.NEEDED }}"}\nprocessor: {cmd: [node]}',
  )
  expect(() => evaluateEnvironments(parseManifest(both), {}, contexts)).toThrow(new UnknownSecrets(['NEEDED']))
  const listed = manifest('secrets: [OLD]\nprocessor: {cmd: [node]}')
  expect(() => evaluateEnvironments(parseManifest(listed), {}, contexts)).toThrow(new UnknownSecrets(['OLD']))
  expect(evaluateEnvironments(parseManifest(listed), { OLD: '1' }, contexts).deploy).toEqual({ OLD: '1' })
})

test('only unknown secrets without a fallback are reported', () => {
  const namesFor = (env: string) => {
    const error = errorOf(() =>
      evaluateEnvironments(parseManifest(manifest(`env: {${env}}\nprocessor: {cmd: [node]}`)), {}, contexts),
    )
    return error instanceof UnknownSecrets ? error.names : error.message
  }
  expect(namesFor('A: "${{ secrets.X || secrets.Y }}"')).toEqual(['X', 'Y'])
  expect(namesFor('A: "${{ secrets.X && secrets.Y }} and ${{ secrets.Z || squid.name }}"')).toEqual(['X', 'Y'])
  expect(namesFor('A: "${{ secrets.X || \'x\' }} and ${{ nothing.at.all }}"')).toContain('is not defined')
})

test('finding many unknown secrets takes linear time', () => {
  const evaluate = vi.spyOn(Manifest.prototype, 'eval')
  const lines = Array.from({ length: 2_000 }, (_, i) => `A${i}: "\${{ secrets.S${i} }}"`)
  const raw = manifest(`env: {${lines.join(', ')}}\nprocessor: {cmd: [node]}`)
  const error = errorOf(() => evaluateEnvironments(parseManifest(raw), {}, contexts))
  const evaluations = evaluate.mock.calls.length
  evaluate.mockRestore()
  expect(error).toBeInstanceOf(UnknownSecrets)
  expect(error.message).toContain('S0, S1, ')
  expect(evaluations).toBeLessThan(500)
})

test('an expression can access only its contexts', () => {
  for (const expression of ['secrets.constructor', 'squid.toString', 'secrets.__proto__.x', 'process.env.HOME']) {
    const raw = manifest(`env: {A: "\${{ ${expression} }}"}\nprocessor: {cmd: [node]}`)
    expect(() => evaluateEnvironments(parseManifest(raw), {}, contexts)).toThrow()
  }
})

test("the platform's variables override those of the section, which override deploy.env", () => {
  const parsed = parseManifest(ordinary)
  const workload = composeWorkload({
    squid: { id: 7, orgId: 3 },
    apiPath: '/acme/s@v1/api',
    generation: 4,
    image: 'img',
    plan: parsePlan(parsed),
    environments: evaluateEnvironments(parsed, { RPC_URL: 'http://rpc' }, contexts),
    addonVariables: { DB_PASS: 'generated', DB_URL: 'postgres://x' },
    hasura: null,
    databaseConnections: 50,
  })
  expect(workload).toMatchObject({ id: '7.4', tenant: '3', version: '7', image: 'img', limitedConnections: 70 })
  // An api has half a minute to finish its streams.
  expect(Object.fromEntries(workload.containers.map((c) => [c.name, c.stopGraceMs]))).toEqual({
    init: 5000,
    api: 30_000,
    'api-2': 30_000,
    eth: 5000,
    base: 5000,
  })
  expect(workload.containers.map((c) => [c.name, c.restart, c.ports])).toEqual([
    ['init', 'never', []],
    ['api', 'always', [4350]],
    ['api-2', 'always', [4350]],
    ['eth', 'on-failure', [3000]],
    ['base', 'on-failure', [3000]],
  ])
  const env = (name: string) => workload.containers.find((c) => c.name === name)?.env
  expect(env('api')).toMatchObject({
    SHARED: 'api',
    DB_PASS: 'generated',
    GQL_PORT: '4350',
    GRAPHQL_SERVER_PORT: '4350',
    SQUID_ID: '7',
  })
  expect(env('eth')).toMatchObject({ SHARED: 'all', DB_URL: 'postgres://x', PROCESSOR_PROMETHEUS_PORT: '3000' })
  expect(env('init')).toMatchObject({ WHO: 'init', DB_PASS: 'generated', NODE_ENV: 'production' })
  expect(env('api')).toMatchObject({ NODE_ENV: 'production', BASE_PATH: '/acme/s@v1/api' })
  expect(env('eth')).toMatchObject({ NODE_ENV: 'production' })
  expect(env('eth')).not.toHaveProperty('BASE_PATH')
  expect(workload.containers[1]?.resources).toEqual({ cpuCores: 1, memoryBytes: 1536 * 2 ** 20 })
  expect(pickContainers(workload, isInit).containers).toHaveLength(1)
  expect(containerNames({ apiReplicas: 2, hasuraReplicas: 2, processors: ['eth', 'base'] })).toEqual([
    'api',
    'api-2',
    'hasura',
    'hasura-2',
    'eth',
    'base',
  ])
})

test('Hasura gets its database, its port and the variables of the manifest', () => {
  const parsed = parseManifest(
    manifest(
      'processor: {cmd: [node]}\naddons: {postgres: {}, hasura: {env: {HASURA_GRAPHQL_ADMIN_SECRET: key, HASURA_GRAPHQL_SERVER_PORT: "1"}}}',
    ).concat('\nscale: {dedicated: true, addons: {hasura: {replicas: 2, profile: medium}}}'),
  )
  const compose = (hasura: HasuraProgram) =>
    composeWorkload({
      squid: { id: 7, orgId: 3 },
      apiPath: '/p',
      generation: 1,
      image: 'i',
      plan: parsePlan(parsed),
      environments: evaluateEnvironments(parsed, { ORG_SECRET: 'x' }, contexts),
      addonVariables: { DB_URL: 'postgres://x' },
      hasura,
      databaseConnections: 0,
    }).containers.filter(isHasura)
  const onHost = compose({ file: '/opt/graphql-engine' })
  expect(onHost.map(({ name, ports, restart }) => [name, ports, restart])).toEqual([
    ['hasura', [8080], 'always'],
    ['hasura-2', [8080], 'always'],
  ])
  expect(onHost[0]).toMatchObject({
    command: ['serve'],
    provided: { file: '/opt/graphql-engine', portVariable: 'HASURA_GRAPHQL_SERVER_PORT' },
    resources: { cpuCores: 1, memoryBytes: 1536 * 2 ** 20 },
  })
  expect(onHost[0]?.env).toEqual({
    ORG_SECRET: 'x',
    HASURA_GRAPHQL_ADMIN_SECRET: 'key',
    HASURA_GRAPHQL_DATABASE_URL: 'postgres://x',
    HASURA_GRAPHQL_SERVER_PORT: '8080',
    HASURA_GRAPHQL_SERVER_HOST: '127.0.0.1',
    HASURA_GRAPHQL_PG_CONNECTIONS: '10',
    HASURA_GRAPHQL_ENABLE_TELEMETRY: 'false',
  })
  const [inPod] = compose({ image: 'hasura/graphql-engine' })
  expect(inPod).toMatchObject({ command: [], provided: { image: 'hasura/graphql-engine' } })
  expect(inPod?.env).not.toHaveProperty('HASURA_GRAPHQL_SERVER_HOST')
})

test('a squid may set its own NODE_ENV and BASE_PATH', () => {
  const apiEnv = (yaml: string) => {
    const parsed = parseManifest(manifest(yaml))
    const environments = evaluateEnvironments(parsed, {}, contexts)
    const plan = parsePlan(parsed)
    const squid = { id: 7, orgId: 3 }
    const { containers } = composeWorkload({
      squid,
      apiPath: '/p',
      generation: 1,
      image: 'i',
      plan,
      environments,
      addonVariables: {},
      hasura: null,
      databaseConnections: 0,
    })
    return containers.find((c) => c.name === 'api')?.env
  }
  const api = 'api: {cmd: [node], env: {NODE_ENV: staging}}\nprocessor: {cmd: [node]}'
  expect(apiEnv(api)).toMatchObject({ NODE_ENV: 'staging', BASE_PATH: '/p' })
  expect(apiEnv(`env: {NODE_ENV: development, BASE_PATH: /mine}\n${api}`)).toMatchObject({
    NODE_ENV: 'staging',
    BASE_PATH: '/mine',
  })
})

test('the path of an api equals the path of its URL', () => {
  const squid = { orgCode: 'acme', name: 's', slot: 'v1' }
  expect(apiPath({ gatewayUrl: 'https://squids.example.com/{org}' }, squid)).toBe('/acme/s@v1/api')
  expect(apiPath({ gatewayUrl: 'https://{org}.squids.example.com' }, squid)).toBe('/s@v1/api')
  expect(apiPath({ gatewayUrl: 'http://localhost:4001/squids/{org}' }, squid)).toBe('/squids/acme/s@v1/api')
})

test('a workload sealed by an earlier release gets grace periods when it is decrypted', () => {
  const sealer = { seal: (text: string) => text, open: (text: string) => text, isCurrent: () => true } as Sealer
  const oldWorkload = { id: '7.4', containers: [{ name: 'api' }, { name: 'api-2' }, { name: 'eth' }] }
  const { containers } = openWorkload(sealer, 7, JSON.stringify(oldWorkload))
  expect(containers.map(({ stopGraceMs }) => stopGraceMs)).toEqual([30_000, 30_000, 5000])
})
