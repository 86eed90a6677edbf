import { startEmbeddedPostgres, tryFileLock, type HostReport } from '@shoal/runtime'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { SMTPServer } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import { days, fakeClock, hours, systemClock, type Clock } from '../clock.ts'
import { loadConfig, type Config } from '../config/config.ts'
import { locksDir } from '../installation/holders.ts'
import { shoalVersion } from '../installation/version.ts'
import { certificatesCheck } from './check-certificates.ts'
import { clockCheck } from './check-clock.ts'
import { backupCheck, diskCheck, keysCheck } from './check-files.ts'
import { hostCheck, limitsCheck } from './check-host.ts'
import { postgresCheck, versionResult } from './check-postgres.ts'
import { portsCheck, serverCheck } from './check-server.ts'
import { bucketCheck, clusterCheck, mailCheck, nodesCheck, registryCheck } from './check-services.ts'
import type { Check, CheckStatus } from './check.ts'
import { clusterReader } from './clusters.ts'
import { examine, formatReport } from './doctor.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

function makeDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-doctor-'))
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

type Options = { dataDir?: string; clock?: Clock; pid?: number; overrides?: Partial<Config> }

/** Runs one check for an installation with these settings, and returns its results with the worst status first. */
async function run(
  check: Check,
  env: Record<string, string>,
  { dataDir = makeDir(), clock, pid, overrides }: Options = {},
) {
  const config = { ...loadConfig({ SHOAL_DATA_DIR: dataDir, ...env }), ...overrides }
  const since = '2026-01-15T12:00:00Z'
  const servers = pid === undefined ? [] : [{ pid, startedAt: '', since, command: 'npm run serve', roles: ['api'] }]
  const installation = { config, clock: clock ?? systemClock, stateDir: dataDir }
  const results = await check.run({ ...installation, servers, readClusters: clusterReader(installation) })
  const order: CheckStatus[] = ['failed', 'warning', 'ok', 'skipped']
  return results.toSorted((a, b) => order.indexOf(a.status) - order.indexOf(b.status))
}

const worst = async (...args: Parameters<typeof run>) => (await run(...args))[0]

/** Starts a server on a free loopback port, which it returns. */
async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((done) => void server.listen(0, host, done))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Returns a port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

/** Returns a port that accepts connections, but on which nothing responds. */
async function silentPort(): Promise<number> {
  const sockets: Socket[] = []
  const server = createNetServer((socket) => sockets.push(socket))
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Starts a process that does nothing, and returns its id. */
function startSleeper(wrapper = ''): number {
  const pid = Number(execFileSync('sh', ['-c', `${wrapper} sleep 60 >/dev/null 2>&1 & echo $!`]).toString())
  cleanups.push(() => process.kill(pid))
  return pid
}

/** Makes a certificate that no authority has signed. */
function makeCertificate(name: string): { key: Buffer; cert: Buffer; keyFile: string; certificateFile: string } {
  const dir = makeDir()
  const [keyFile, certificateFile] = [join(dir, 'key'), join(dir, 'cert')]
  const args = `-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=${name}`
  const files = ['-addext', `subjectAltName=DNS:${name}`, '-keyout', keyFile, '-out', certificateFile]
  execFileSync('openssl', ['req', ...args.split(' '), ...files], { stdio: 'ignore' })
  return { key: readFileSync(keyFile), cert: readFileSync(certificateFile), keyFile, certificateFile }
}

describe('each check fails when what it checks is broken, and says what to do', () => {
  test('server: none runs, it does not respond, is not ready, or has another version', async () => {
    const pages = { ready: { status: 'ok', checks: { database: 'ok' } }, health: { version: shoalVersion() } }
    const server = createServer((req, res) =>
      res.end(JSON.stringify(req.url === '/readyz' ? pages.ready : pages.health)),
    )
    const env = { SHOAL_ROLES: 'api', SHOAL_PORT: String(await listen(server)) }
    const check = (pid?: number) => worst(serverCheck, env, pid === undefined ? {} : { pid })
    expect(await check()).toMatchObject({
      status: 'warning',
      finding: 'no server runs',
      remedy: expect.stringContaining('systemctl start'),
    })
    expect(await check(process.pid)).toMatchObject({ status: 'ok' })
    pages.ready.checks.database = 'does not respond'
    expect(await check(process.pid)).toMatchObject({
      status: 'failed',
      finding: `port ${env.SHOAL_PORT} (SHOAL_PORT) is not ready: database does not respond`,
      remedy: expect.stringContaining('log of the server'),
    })
    pages.ready.checks.database = 'ok'
    pages.health.version = '0.0.1'
    expect(await check(process.pid)).toMatchObject({
      status: 'warning',
      finding: expect.stringContaining('runs version 0.0.1'),
      remedy: expect.stringContaining('Restart the server'),
    })
    server.closeAllConnections()
    server.close()
    expect(await check(process.pid)).toMatchObject({
      status: 'failed',
      finding: expect.stringContaining('does not respond'),
      remedy: 'Read its log, and restart it.',
    })
  })

  test('ports: another program uses the port', async () => {
    const port = await listen(createServer((_, res) => res.end('something else')))
    const roles = { SHOAL_ROLES: 'api' }
    expect(await worst(portsCheck, { ...roles, SHOAL_PORT: String(await closedPort()) })).toMatchObject({
      status: 'ok',
      finding: expect.stringContaining('is free'),
    })
    expect(await worst(portsCheck, { ...roles, SHOAL_PORT: String(port) })).toMatchObject({
      status: 'failed',
      finding: `${port} (SHOAL_PORT) is used by another program`,
      remedy: expect.stringContaining(`ss -ltnp`),
    })
  })

  test.skipIf(!existsSync('/proc/self/net/tcp'))(
    'ports: a server that runs but does not respond is not another program',
    async () => {
      const port = await silentPort()
      const settings = { SHOAL_ROLES: 'api', SHOAL_PORT: String(port) }
      expect(await worst(portsCheck, settings, { pid: process.pid })).toMatchObject({
        status: 'failed',
        finding: `${port} (SHOAL_PORT) is open, but process ${process.pid} (npm run serve) since 2026-01-15 12:00:00 UTC does not respond there`,
        remedy: 'Read the log of the server, and restart it.',
      })
      // The port of a program that does not respond either is not attributed to a server that does not have it.
      const pid = startSleeper()
      expect(await worst(portsCheck, settings, { pid })).toMatchObject({
        status: 'failed',
        finding: `${port} (SHOAL_PORT) is used by another program`,
      })
    },
  )

  test('ports: a server that listens on another address than loopback is found there', async () => {
    const port = await listen(
      createServer((_, res) => res.end('{"status":"ok"}')),
      '127.0.0.2',
    )
    const settings = { SHOAL_ROLES: 'api', SHOAL_HOST: '127.0.0.2', SHOAL_PORT: String(port) }
    expect(await worst(portsCheck, settings)).toMatchObject({
      finding: `${port} (SHOAL_PORT) is used by another installation`,
    })
  })

  test('ports: those of SHOAL_TLS are used by another program, or served by Shoal', async () => {
    const name = 'console.shoal.test'
    const { key, cert, keyFile, certificateFile } = makeCertificate(name)
    const check = async (httpsPort: number, httpPort: number, pid?: number) => {
      const env = {
        SHOAL_ROLES: 'api',
        SHOAL_PORT: String(await closedPort()),
        SHOAL_TLS: 'files',
        SHOAL_PUBLIC_URL: `https://${name}`,
        SHOAL_GATEWAY_URL: 'https://{org}.squids.shoal.test',
        SHOAL_TLS_CERTIFICATE_FILE: certificateFile,
        SHOAL_TLS_KEY_FILE: keyFile,
        SHOAL_TLS_HOST: '127.0.0.1',
        SHOAL_TLS_PORT: String(httpsPort),
        SHOAL_TLS_REDIRECT_PORT: String(httpPort),
      }
      const results = await run(portsCheck, env, pid === undefined ? {} : { pid })
      return results.filter(({ finding }) => finding.includes('SHOAL_TLS_'))
    }
    const free = await check(await closedPort(), await closedPort())
    expect(free).toMatchObject([{ status: 'ok' }, { status: 'ok' }])
    const other = await listen(createServer((_, res) => res.end('something else')))
    expect(await check(other, other)).toMatchObject([
      { status: 'failed', finding: `${other} (SHOAL_TLS_PORT) is used by another program` },
      { status: 'failed', finding: `${other} (SHOAL_TLS_REDIRECT_PORT) is used by another program` },
    ])
    const https = await listen(
      createTlsServer({ key, cert }, (req, res) => res.end(req.headers.host === name ? '{"status":"ok"}' : '')),
    )
    const http = await listen(
      createServer((req, res) => res.writeHead(308, { location: `https://${req.headers.host}${req.url}` }).end()),
    )
    expect(await check(https, http, process.pid)).toMatchObject([
      { status: 'ok', finding: `${https} (SHOAL_TLS_PORT) is served by Shoal` },
      { status: 'ok', finding: `${http} (SHOAL_TLS_REDIRECT_PORT) is served by Shoal` },
    ])
  })

  test('disk: less than the reserve is free', async () => {
    expect(await worst(diskCheck, { SHOAL_DISK_RESERVE_PERCENT: '0' })).toMatchObject({ status: 'ok' })
    expect(await worst(diskCheck, {}, { overrides: { SHOAL_DISK_RESERVE_PERCENT: 100 } })).toMatchObject({
      status: 'failed',
      finding: expect.stringMatching(/are free in .*; deployments are refused below 100 %/),
    })
  })

  test.skipIf(!existsSync('/proc/self/limits'))('limits: the server may open few files', async () => {
    const pid = startSleeper('prlimit --nofile=1024:1024')
    await expect.poll(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toMatch(/^sleep/)
    expect(await worst(limitsCheck, {}, { pid })).toMatchObject({
      status: 'failed',
      finding: `1024 open files (limit of process ${pid}); at least 4096 are needed`,
      remedy: expect.stringContaining('LimitNOFILE'),
    })
  })

  test('sandbox and network: they are disabled, or the worker recorded that they do not work', async () => {
    const results = await run(hostCheck, { SHOAL_SANDBOX: 'none', SHOAL_NETWORK: 'none' })
    const failures = results.filter(({ status }) => status === 'failed').map(({ name }) => name)
    expect(failures).toEqual(expect.arrayContaining(['sandbox', 'network of squids']))
  })

  test('host: only the protection that the worker recorded as missing is reported', async () => {
    const dataDir = makeDir()
    const worker = tryFileLock(join(locksDir({ dataDir }), 'worker.lock'), 'exclusive')
    cleanups.push(() => worker?.release())
    const part = { state: 'works', isProtected: true, problems: [] }
    const report: HostReport = { sandbox: part, limits: part, disk: part, network: part, users: part }
    const check = async (broken: Partial<HostReport>) => {
      const recorded = { at: '2026-01-15T12:00:00.000Z', report: { ...report, ...broken } }
      writeFileSync(join(dataDir, 'host.json'), JSON.stringify(recorded))
      const results = await run(hostCheck, {}, { dataDir })
      return results.filter(({ status }) => status !== 'ok')
    }
    expect(await check({})).toEqual([])
    for (const [key, name, status, remedy] of [
      ['sandbox', 'sandbox', 'failed', 'Install bubblewrap'],
      ['limits', 'cgroups', 'failed', 'cgroup'],
      ['network', 'network of squids', 'failed', 'Install iproute2 and nftables'],
      ['disk', 'disk of squids', 'warning', 'loop devices'],
      ['users', 'users of squids', 'warning', 'setpriv'],
    ] as const) {
      const broken = { state: 'off', isProtected: false, problems: ['It is missing.'] }
      expect(await check({ [key]: broken })).toMatchObject([
        {
          name,
          status,
          finding: expect.stringMatching(/^off: It is missing/),
          remedy: expect.stringContaining(remedy),
        },
      ])
      // A protection that works, but less well than it could.
      expect(await check({ [key]: { ...part, problems: ['It is weak.'] } })).toMatchObject([
        { name, status: 'warning' },
      ])
    }
  })

  test('clock: it differs from that of other servers', async () => {
    const port = await listen(createServer((_, res) => res.end()))
    const env = { SHOAL_DEVNET_URL: `http://127.0.0.1:${port}` }
    expect(await worst(clockCheck, env)).toMatchObject({ status: 'ok' })
    const wrong = { now: () => new Date(systemClock.now().getTime() + hours(1)) }
    expect(await worst(clockCheck, env, { clock: wrong })).toMatchObject({
      status: 'failed',
      finding: expect.stringMatching(/^3(599|600|601) s ahead of 127/),
      remedy: expect.stringContaining('set-ntp'),
    })
  })

  test('Postgres: it is too old, does not respond, or its connections are used up', async () => {
    expect(versionResult('Postgres', { version: '13.9', versionNumber: 130_009 })).toMatchObject({ status: 'failed' })
    const unreachable = { DATABASE_URL: `postgres://a:b@127.0.0.1:${await closedPort()}/c` }
    expect(await worst(postgresCheck, unreachable)).toMatchObject({ status: 'failed', name: 'Postgres of Shoal' })
    expect(await worst(postgresCheck, {}, { pid: 1 })).toMatchObject({ status: 'failed' })

    const dir = makeDir()
    chmodSync(dir, 0o711)
    const settings = { max_connections: '12', superuser_reserved_connections: '2', fsync: 'off' }
    const postgres = await startEmbeddedPostgres({ dir, settings })
    cleanups.push(() => postgres.stop())
    const env = { DATABASE_URL: postgres.url('postgres') }
    expect(await run(postgresCheck, env)).toMatchObject([{ status: 'ok' }, { status: 'ok' }])
    const clients = Array.from({ length: 11 }, () => new pg.Client({ connectionString: postgres.url('postgres') }))
    cleanups.push(() => Promise.all(clients.map((client) => client.end())))
    for (const client of clients) await client.connect()
    expect(await worst(postgresCheck, env)).toMatchObject({
      status: 'failed',
      finding: '12 of 12 connections are open',
    })
  })

  test('Postgres: each server of SHOAL_SQUIDS_DATABASE_URL is checked, by its name', async () => {
    const dirs = [makeDir(), makeDir()]
    for (const dir of dirs) chmodSync(dir, 0o711)
    const [control, squids] = await Promise.all(
      dirs.map((dir) => startEmbeddedPostgres({ dir, settings: { fsync: 'off' } })),
    )
    cleanups.push(() => Promise.all([control?.stop(), squids?.stop()]))
    const unreachable = async () => `postgres://a:b@127.0.0.1:${await closedPort()}/c`
    const env = {
      DATABASE_URL: control?.url('postgres') ?? '',
      SHOAL_SQUIDS_DATABASE_URL: `${squids?.url('postgres')} ${await unreachable()}?shoal_name=second ${await unreachable()}?shoal_name=third&shoal_for=dedicated`,
    }
    const results = await run(postgresCheck, env)
    for (const server of ['second', 'third'])
      expect(results).toContainEqual(
        expect.objectContaining({
          name: `Postgres of squids "${server}"`,
          status: 'failed',
          finding: expect.stringContaining('does not respond'),
        }),
      )
    expect(results).toContainEqual(expect.objectContaining({ name: 'Postgres of squids "main"', status: 'ok' }))
  })

  test('keys: others can read them, or they are missing', async () => {
    const dataDir = makeDir()
    const file = join(dataDir, 'secrets.key')
    writeFileSync(file, 'key', { mode: 0o600 })
    expect(await worst(keysCheck, {}, { dataDir })).toMatchObject({ status: 'ok' })
    chmodSync(file, 0o644)
    expect(await worst(keysCheck, {}, { dataDir })).toMatchObject({ status: 'failed', remedy: `chmod 600 ${file}` })
    rmSync(file)
    mkdirSync(join(dataDir, 'postgres'))
    writeFileSync(join(dataDir, 'postgres/password'), 'p', { mode: 0o600 })
    expect(await worst(keysCheck, {}, { dataDir })).toMatchObject({
      status: 'failed',
      finding: expect.stringContaining('is missing'),
    })
  })

  test('mail: the server refuses the sign-in, or there is none', async () => {
    const smtp = new SMTPServer({
      allowInsecureAuth: true,
      onAuth: ({ password }, _, done) => done(password === 'right' ? null : new Error('no'), { user: 'u' }),
    })
    smtp.on('error', () => undefined)
    await new Promise<void>((done) => void smtp.listen(0, '127.0.0.1', done))
    cleanups.push(() => new Promise<void>((done) => smtp.close(done)))
    const { port } = smtp.server.address() as AddressInfo
    const url = (password: string) => ({ SHOAL_MAIL_URL: `smtp://u:${password}@127.0.0.1:${port}?ignoreTLS=true` })
    expect(await worst(mailCheck, url('right'))).toMatchObject({ status: 'ok' })
    const refused = await worst(mailCheck, url('secret-wrong'))
    expect(refused).toMatchObject({ status: 'failed' })
    expect(JSON.stringify(refused)).not.toContain('secret-wrong')
    expect(await worst(mailCheck, {})).toMatchObject({ status: 'warning' })
  })

  test('RPC nodes: none of a chain responds', async () => {
    const unreachable = await closedPort()
    const live = await listen(
      createServer((_, res) => res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' }))),
    )
    const file = join(makeDir(), 'rpc.yaml')
    const check = (...ports: number[]) => {
      const upstreams = ports.map((port) => ({ url: `http://127.0.0.1:${port}` }))
      writeFileSync(file, JSON.stringify({ chains: { 'my-chain': { upstreams } } }))
      return worst(nodesCheck, { SHOAL_RPC_CONFIG: file })
    }
    expect(await check(live)).toMatchObject({ status: 'ok', finding: 'my-chain: 1 of 1 nodes respond' })
    expect(await check(live, unreachable)).toMatchObject({ status: 'warning' })
    expect(await check(unreachable)).toMatchObject({
      status: 'failed',
      finding: expect.stringContaining('my-chain: 0 of 1 nodes respond (upstream 1: '),
    })
  })

  test('backup: the last one is old', async () => {
    const dataDir = makeDir()
    const clock = fakeClock()
    const record = (ageMs: number) =>
      writeFileSync(
        join(dataDir, 'last-backup.json'),
        JSON.stringify({ at: new Date(clock.now().getTime() - ageMs).toISOString() }),
      )
    expect(await worst(backupCheck, {}, { dataDir, clock })).toMatchObject({ status: 'warning' })
    for (const [age, status] of [
      [hours(25), 'ok'],
      [hours(27), 'warning'],
      [days(8), 'failed'],
    ] as const) {
      record(age)
      expect(await worst(backupCheck, {}, { dataDir, clock })).toMatchObject({ status })
    }
  })

  test('certificates: expired, of an unknown authority, not served', async () => {
    const port = await listen(createTlsServer(makeCertificate('localhost')))
    const env = { SHOAL_PUBLIC_URL: `https://localhost:${port}`, SHOAL_ROLES: 'api' }
    expect(await worst(certificatesCheck, env)).toMatchObject({
      status: 'failed',
      finding: expect.stringContaining('SELF_SIGNED'),
    })
    const later = { now: () => new Date(systemClock.now().getTime() + days(40)) }
    expect(await worst(certificatesCheck, env, { clock: later })).toMatchObject({
      status: 'failed',
      finding: expect.stringContaining('expired on'),
    })
    const unreachable = { ...env, SHOAL_PUBLIC_URL: `https://localhost:${await closedPort()}` }
    expect(await worst(certificatesCheck, unreachable)).toMatchObject({ status: 'failed' })
    expect(await worst(certificatesCheck, { SHOAL_PUBLIC_URL: 'http://shoal.example.com' })).toMatchObject({
      status: 'warning',
    })
  })

  test('certificates: orders from the authority failed, or have not started', async () => {
    const nextOrderAt = '2026-01-15T12:00:00.000Z'
    const fact = { validUntil: nextOrderAt, failures: 0, problem: null, nextOrderAt }
    const certificates = [
      { ...fact, name: 'well.shoal.test' },
      // Only the number of failures decides, regardless of the authority's text.
      { ...fact, name: 'renewed.shoal.test', failures: 2, problem: 'rate limited' },
      { ...fact, name: 'new.shoal.test', validUntil: null, nextOrderAt: null },
    ]
    const page = JSON.stringify({ status: 'ok', checks: {}, facts: { certificates } })
    const port = await listen(createServer((_, res) => res.end(page)))
    const env = {
      SHOAL_ROLES: 'api',
      SHOAL_TLS: 'acme',
      SHOAL_PORT: String(port),
      SHOAL_PUBLIC_URL: 'https://console.shoal.test',
      SHOAL_GATEWAY_URL: 'https://squids.shoal.test/{org}',
    }
    const results = await run(certificatesCheck, env, { pid: process.pid })
    const statusOf = (name: string) => results.find(({ finding }) => finding.startsWith(name))
    expect(statusOf('well.')).toMatchObject({ status: 'ok' })
    expect(statusOf('renewed.')).toMatchObject({
      status: 'warning',
      finding: `renewed.shoal.test has a certificate until ${nextOrderAt}: 2 failed orders, the next order starts at ${nextOrderAt}: rate limited`,
      remedy: expect.stringContaining('ports 80 and 443'),
    })
    expect(statusOf('new.')).toMatchObject({ status: 'warning', finding: expect.stringContaining('has not started') })
  })

  test('registry, Kubernetes and S3: they do not respond', async () => {
    const port = await closedPort()
    const kubeconfig = join(makeDir(), 'kubeconfig')
    const cluster = { name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }
    const context = { name: 'x', context: { cluster: 'c', user: 'u' } }
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        clusters: [cluster],
        contexts: [context],
        users: [{ name: 'u', user: {} }],
        'current-context': 'x',
      }),
    )
    const registry = { SHOAL_REGISTRY: `127.0.0.1:${port}` }
    const kubernetes = {
      ...registry,
      SHOAL_RUNTIME: 'kubernetes',
      SHOAL_KUBECONFIG: kubeconfig,
      SHOAL_KUBE_GATEWAYS: '10.0.0.1',
      SHOAL_SQUIDS_DATABASE_URL: 'postgres://a:b@10.0.0.2/c',
      SHOAL_GATEWAY_URL: 'http://10.0.0.1:4001/{org}',
    }
    const s3 = {
      SHOAL_S3_BUCKET: 'bucket',
      SHOAL_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      SHOAL_S3_ACCESS_KEY: 'a',
      SHOAL_S3_SECRET_KEY: 's',
    }
    for (const [check, env] of [
      [registryCheck, registry],
      [clusterCheck, kubernetes],
      [bucketCheck, s3],
    ] as const) {
      expect(await worst(check, env)).toMatchObject({ status: 'failed', remedy: expect.any(String) })
      expect(await worst(check, {})).toMatchObject({ status: 'skipped' })
    }
    // A gateway has neither the worker's rights nor credentials for the bucket.
    for (const role of ['api', 'gateway'])
      expect(await worst(clusterCheck, { ...kubernetes, SHOAL_ROLES: role })).toMatchObject({ status: 'skipped' })
    expect(await worst(bucketCheck, { ...s3, SHOAL_ROLES: 'gateway' })).toMatchObject({ status: 'skipped' })
    expect(await worst(bucketCheck, { ...s3, SHOAL_ROLES: 'api' })).toMatchObject({ status: 'failed' })
  })
})

test('a report has one line for each check, the remedy below each check that is not ok, and the counts', () => {
  const text = formatReport({
    status: 'failed',
    checks: [
      { name: 'disk', status: 'ok', finding: 'enough', remedy: null },
      { name: 'keys', status: 'failed', finding: 'others can read them', remedy: 'chmod 600 file' },
    ],
  })
  expect(text).toBe(`ok       disk                enough
failed   keys                others can read them
                             → chmod 600 file
failed: 1 ok, 0 warnings, 1 failed, 0 skipped
`)
})

test('docs/operate.md documents each check', async () => {
  const { checks } = await examine(loadConfig({ SHOAL_DATA_DIR: join(makeDir(), 'new'), SHOAL_SANDBOX: 'none' }))
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operate.md'), 'utf8')
  const documented = page.split('\n').flatMap((line) => /^\|([^|]*)\|[^|]+\|[^|]+\|$/.exec(line)?.[1] ?? [])
  const names = [...new Set(checks.map(({ name }) => name))]
  expect(names.filter((name) => !documented.some((cell) => cell.includes(`\`${name}\``)))).toEqual([])
})
