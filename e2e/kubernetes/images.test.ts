import { type Builder, type EmbeddedPostgres, startEmbeddedPostgres } from '@shoal/runtime'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, type Server, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildImage, openImageBuilder } from '../support/image-builder.ts'
import { addressOfPod, endOfPod, startImagePod } from '../support/image-pods.ts'
import { createNamespace, hasCluster, kubectl } from '../support/kubernetes.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

const registry = process.env['SHOAL_TEST_REGISTRY']
const hostAddress = process.env['SHOAL_TEST_HOST_ADDRESS']
const isPossible = hasCluster && registry !== undefined && hostAddress !== undefined

const example = fileURLToPath(new URL('../../examples/erc20-transfers', import.meta.url))
const files = 'package.json package-lock.json commands.json squid.yaml schema.graphql tsconfig.json db src abi'.split(
  ' ',
)
const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' }

let folder: string
let builder: Builder
let image: string
const log: string[] = []

const build = (key: string, paths: string[]) => buildImage(builder, { key, project: example, paths, log })

beforeAll(async () => {
  if (!isPossible) return
  folder = mkdtempSync(join(tmpdir(), 'images-'))
  chmodSync(folder, 0o711)
  builder = await openImageBuilder(folder)
  image = await build('first', files)
}, 900_000)

afterAll(() => {
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})

describe.skipIf(!isPossible)('an image of the example squid', () => {
  let postgres: EmbeddedPostgres
  /** Relays connections of pods to this host's Postgres, which listens on loopback. */
  let relay: Server
  let env: Record<string, string>

  beforeAll(async () => {
    postgres = await startEmbeddedPostgres({ dir: join(folder, 'postgres') })
    relay = createServer((socket) => {
      const upstream = connect(postgres.port, postgres.host)
      socket.pipe(upstream).pipe(socket)
      socket.on('error', () => upstream.destroy())
      upstream.on('error', () => socket.destroy())
    })
    await new Promise<void>((resolve) => relay.listen(0, hostAddress, resolve))
    env = {
      DB_HOST: hostAddress ?? '',
      DB_PORT: String((relay.address() as AddressInfo).port),
      DB_NAME: 'postgres',
      DB_USER: postgres.user,
      DB_PASS: postgres.password,
    }
  })

  afterAll(async () => {
    relay?.close()
    await postgres?.stop()
  })

  test('runs on a node, and responds to GraphQL queries with data of a database outside the cluster', async () => {
    const namespace = await createNamespace(restricted)
    const migrate = ['npx', 'squid-typeorm-migration', 'apply']
    await startImagePod({ namespace, name: 'migrate', image, args: migrate, env })
    expect(await endOfPod(namespace, 'migrate')).toMatchObject({ exitCode: 0 })
    await startImagePod({
      namespace,
      name: 'api',
      image,
      args: ['sqd', 'serve:prod'],
      env: { ...env, GQL_PORT: '4350', NODE_ENV: 'production', NODE_OPTIONS: '--max-old-space-size=200' },
    })
    const endpoint = `http://${await addressOfPod(namespace, 'api')}:4350/graphql`
    const isResponding = async () => (await totalTransfers(endpoint).catch(() => null)) === 0
    await until(isResponding, 'the pod responds to GraphQL queries')
    // If the first process did not forward the signal, the pod would end only after its grace period of 30 seconds.
    await kubectl(['delete', 'pod', '-n', namespace, 'api', '--timeout=25s'])
  })

  test('is uploaded again with less than 1 MB if its dependencies are unchanged', async () => {
    const second = await build('second', [...files, 'README.md'])
    expect(second).not.toBe(image)
    const [, uploaded = ''] = /Image pushed: ([\d.]+) MB uploaded/.exec(log.at(-1) ?? '') ?? []
    expect(Number(uploaded)).toBeLessThan(1)
    expect(log).toContain('Dependencies unchanged: installed nothing')
  })
})

describe.skipIf(!isPossible)('the first process of a container', () => {
  // Kubernetes replaces `$$` in arguments with `$`.
  const shell = (script: string) => ['sh', '-c', script.replaceAll('$', () => '$$')]
  const allocate = 'const all = []; for (;;) all.push(Buffer.alloc(2 ** 20, 1))'
  // Like `sqd`, this program exits with 0 although its child was killed.
  const childKillingProgram = `require('child_process').spawn('sh', ['-c', 'kill -KILL $$$$'], { stdio: 'inherit' })`

  test.each([
    { name: 'success', args: shell('exit 0'), exitCode: 0 },
    { name: 'failure', args: shell('exit 7'), exitCode: 7 },
    { name: 'signal', args: shell('kill -TERM $$'), exitCode: 143 },
    { name: 'wrapper', args: ['node', '-e', childKillingProgram], exitCode: 137 },
    { name: 'missing', args: ['no-such-command'], exitCode: 127 },
    { name: 'memory', args: ['node', '-e', allocate], exitCode: 137, memory: '96Mi' },
  ])('ends with the exit code of its program: $name', async ({ name, exitCode, ...options }) => {
    const namespace = await createNamespace(restricted)
    await startImagePod({ namespace, name, image, ...options })
    expect(await endOfPod(namespace, name)).toMatchObject({ exitCode })
  })

  test('reports that a child ran out of memory, and ends with its exit code, even if a shell hides it', async () => {
    const namespace = await createNamespace(restricted)
    const args = shell(`node -e '${allocate}'; exit 0`)
    await startImagePod({ namespace, name: 'child', image, args, memory: '96Mi' })
    const { exitCode, message } = await endOfPod(namespace, 'child')
    expect({ exitCode, message: JSON.parse(message ?? 'null') as unknown }).toEqual({
      exitCode: 137,
      message: { oomKills: expect.any(Number) as number, survived: 0 },
    })
  })

  test('forwards the stop signal to the program behind a wrapper, and waits until it ends', async () => {
    const namespace = await createNamespace(restricted)
    const program = `process.on('SIGTERM', () => setTimeout(() => { console.log('stopped in order'); process.exit(0) }, 500)); setInterval(() => {}, 1000); console.log('ready')`
    await startImagePod({ namespace, name: 'wrapped', image, args: shell(`node -e "${program}"; exit 3`) })
    const output = () => kubectl(['logs', '-n', namespace, 'wrapped'])
    await until(async () => (await output().catch(() => '')).includes('ready'), 'the program runs')
    const followed = kubectl(['logs', '-n', namespace, '-f', 'wrapped'])
    await kubectl(['delete', 'pod', '-n', namespace, 'wrapped', '--timeout=25s'])
    expect(await followed).toContain('stopped in order')
  })
})
