import { startEmbeddedPostgres } from '@shoal/runtime'
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { hasRegistry, startRegistry } from '../../../scripts/registry.ts'
import { trustAuthorities } from './ca-file.ts'
import { loadConfig } from './config.ts'
import { settings } from './settings.ts'

let folder: string
let authority: string
let databaseUrl: string
let httpsUrl: string
const cleanup = new AsyncDisposableStack()

/** Creates a certificate authority, and a certificate for 127.0.0.1 that it signed. */
function createCertificates(): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Private', '-days', '2')
  openssl('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=server')
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost')
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '1']
  openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.pem', ...signed)
}

beforeAll(async () => {
  folder = mkdtempSync(join(inject('testsDir'), 'ca-'))
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o711)
  createCertificates()
  authority = join(folder, 'ca.pem')
  const dir = join(folder, 'postgres')
  const postgres = await startEmbeddedPostgres({ dir, settings: { fsync: 'off' } })
  cleanup.defer(() => postgres.stop())
  // Postgres reads the files as its own user, and rejects a key that others can read.
  for (const name of ['server.pem', 'server.key']) {
    const file = join(dir, 'data', name)
    copyFileSync(join(folder, name), file)
    chmodSync(file, 0o600)
    execFileSync('chown', [`--reference=${join(dir, 'data/PG_VERSION')}`, file])
  }
  const url = new URL(postgres.url('postgres'))
  const { Client } = await import('pg')
  const admin = new Client(url.href)
  await admin.connect()
  await admin.query(`alter system set ssl_cert_file = 'server.pem'`)
  await admin.query(`alter system set ssl_key_file = 'server.key'`)
  await admin.query('alter system set ssl = on')
  await admin.query('select pg_reload_conf()')
  while ((await admin.query<{ ssl: string }>('show ssl')).rows[0]?.ssl !== 'on');
  await admin.end()
  url.searchParams.set('sslmode', 'verify-full')
  databaseUrl = url.href
  const server = createServer(
    { cert: readFileSync(join(folder, 'server.pem')), key: readFileSync(join(folder, 'server.key')) },
    (_, response) => void response.end('responded'),
  )
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  cleanup.defer(() => void server.close())
  httpsUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(() => cleanup.disposeAsync())

/** Connects to both servers in a new process, since the authorities belong to a process, and returns the outcomes. */
async function connectAs(env: Record<string, string>): Promise<string[]> {
  const program = `
    import { trustAuthorities } from '${import.meta.dirname}/ca-file.ts'
    import { loadConfig } from '${import.meta.dirname}/config.ts'
    import { connect } from '${import.meta.dirname}/../db/database.ts'
    import { request } from 'undici'
    trustAuthorities(loadConfig())
    const outcome = (work) => work.then((value) => value, (error) => 'failed: ' + (error.cause?.message ?? error.message))
    const database = connect('${databaseUrl}')
    const sslQuery = database.pool.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    const outcomes = [
      await outcome(sslQuery.then(({ rows }) => String(rows[0].ssl))),
      await outcome(fetch('${httpsUrl}').then((response) => response.text())),
      await outcome(request('${httpsUrl}').then(({ body }) => body.text())),
    ]
    await database.close()
    process.stdout.write(JSON.stringify(outcomes))
    process.exit()`
  return (await runProgram(program, env)) as string[]
}

/** Runs a program in a new process, and returns the JSON that it prints. */
async function runProgram(program: string, env: Record<string, string>): Promise<unknown> {
  const { PATH = '' } = process.env
  const args = ['--input-type=module-typescript', '-e', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { PATH, ...env },
    cwd: import.meta.dirname,
  })
  return JSON.parse(stdout)
}

test('with SHOAL_CA_FILE, connections to Postgres and over HTTPS trust a private authority, and without it they fail', async () => {
  for (const outcome of await connectAs({})) expect(outcome).toMatch(/^failed: .*certificate/)
  expect(await connectAs({ SHOAL_CA_FILE: authority })).toEqual(['true', 'responded', 'responded'])
})

test.skipIf(!hasRegistry)(
  'a registry with a certificate of a private authority is trusted with SHOAL_CA_FILE only',
  async () => {
    const registry = await startRegistry()
    cleanup.defer(() => registry.stop())
    const [host, port] = registry.host.split(':')
    const tls = { cert: readFileSync(join(folder, 'server.pem')), key: readFileSync(join(folder, 'server.key')) }
    const proxy = createTlsServer(tls, (socket) => {
      const upstream = connect(Number(port), host)
      socket.pipe(upstream).pipe(socket)
      socket.on('error', () => upstream.destroy())
      upstream.on('error', () => socket.destroy())
    })
    await new Promise<void>((done) => void proxy.listen(0, '127.0.0.1', done))
    cleanup.defer(() => void proxy.close())
    const program = `
    import { trustAuthorities } from '${import.meta.dirname}/ca-file.ts'
    import { loadConfig } from '${import.meta.dirname}/config.ts'
    import { registryCheck } from '${import.meta.dirname}/../doctor/check-services.ts'
    const config = loadConfig()
    trustAuthorities(config)
    process.stdout.write(JSON.stringify(await registryCheck.run({ config })))
    process.exit()`
    const env = { SHOAL_REGISTRY: `https://localhost:${(proxy.address() as AddressInfo).port}/squids` }
    expect(await runProgram(program, env)).toMatchObject([
      { status: 'failed', finding: expect.stringContaining('UNABLE_TO_VERIFY') },
    ])
    expect(await runProgram(program, { ...env, SHOAL_CA_FILE: authority })).toMatchObject([{ status: 'ok' }])
  },
)

test('npm and builds receive SHOAL_CA_FILE as NODE_EXTRA_CA_CERTS, unless that is set', () => {
  const other = { NODE_EXTRA_CA_CERTS: '/other.pem' }
  const environmentOf = (env: Record<string, string>) => loadConfig(env, folder).environment['NODE_EXTRA_CA_CERTS']
  expect(environmentOf({ SHOAL_CA_FILE: 'ca.pem' })).toBe(authority)
  expect(environmentOf({ SHOAL_CA_FILE: authority, ...other })).toBe('/other.pem')
  expect(environmentOf({})).toBeUndefined()
})

test('npm receives neither settings nor credentials of the server', () => {
  const secrets = Object.fromEntries(
    [...Object.keys(settings), 'SHOAL_UNKNOWN', 'AWS_SECRET_ACCESS_KEY', 'PGPASSWORD', 'NODE_COMPILE_CACHE'].map(
      (name) => [name, ''],
    ),
  )
  const npmEnvironment = {
    PATH: '/usr/bin',
    HTTPS_PROXY: 'http://proxy:3128',
    npm_config_registry: 'https://packages.example.com',
  }
  expect(Object.keys(secrets)).toContain('SHOAL_SECRETS_KEY')
  expect(loadConfig({ ...secrets, ...npmEnvironment }, folder).environment).toEqual(npmEnvironment)
})

test.each([
  ['missing.pem', 'SHOAL_CA_FILE is "'],
  ['names', 'but must be a file with certificates in PEM'],
])('SHOAL_CA_FILE with the file %s is rejected', (name, message) => {
  expect(() => trustAuthorities({ SHOAL_CA_FILE: join(folder, name) })).toThrow(message)
})
