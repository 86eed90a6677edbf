import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ContainerSpec, PortEndpoint } from '../driver.ts'
import { shortHash } from './short-hash.ts'
import { describeKinds } from './host-harness.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'
import { until } from '../until.ts'

const MIB = 1024 * 1024
/** Ports that are unlikely to be in use on this machine: below those that the kernel assigns. */
const PORT = 21_217
const OTHER_PORT = 21_218
const isRoot = process.getuid?.() === 0

/** Serves HTTP on its ports. On request, attempts to read, list or write a file, or to kill a process. */
const PROBE = `
const http = require('node:http')
const fs = require('node:fs')
const perform = (url) => {
  const [, operation, argument] = url.match(/^.(\\w+)\\??(.*)$/)
  const subject = decodeURIComponent(argument)
  if (operation === 'env') return process.env
  if (operation === 'read') return fs.readFileSync(subject, 'utf8')
  if (operation === 'list') return fs.readdirSync(subject)
  if (operation === 'write') return fs.writeFileSync(subject, 'x')
  if (operation === 'kill') return process.kill(Number(subject), 0)
  if (operation === 'address') return [server.address(), other.address()]
}
const server = http.createServer((request, response) => {
  try { response.end(JSON.stringify(perform(request.url) ?? null)) } catch (error) { response.statusCode = 500; response.end(error.code) }
})
const other = http.createServer().listen(0, '0.0.0.0', () => server.listen(${PORT}, () => console.log('ready')))
`

const kinds = [{ sandbox: 'auto' }, { sandbox: 'none' }] as const

describeKinds(kinds, ({ sandbox }) => {
  let harness: ProcessHarness

  beforeEach(async () => {
    harness = await openProcessHarness({ sandbox })
    makeImage(harness.options.imagesDir, 'probe', PROBE)
    makeImage(harness.options.imagesDir, 'other', PROBE)
  })

  afterEach(() => harness.dispose())

  const api: ContainerSpec = {
    name: 'api',
    command: ['node', 'main.cjs'],
    env: { SECRET: 'known to api only', LD_PRELOAD: '' },
    resources: { cpuCores: 1, memoryBytes: 256 * MIB },
    restart: 'on-failure',
    ports: [PORT, OTHER_PORT],
    stopGraceMs: 5000,
  }

  const applyProbes = async () => {
    await harness.runtime.apply({ id: 'one', tenant: 'one', version: 'one', image: 'probe', containers: [api] })
    await harness.runtime.apply({ id: 'two', tenant: 'two', version: 'two', image: 'other', containers: [api] })
    await until(async () => expect(await call('one', '/env')).toBeTruthy())
    await until(async () => expect(await call('two', '/env')).toBeTruthy())
  }

  const call = async (id: string, path: string): Promise<unknown> => {
    const { status, text } = await get(harness.directory.endpoint(id, 'api', PORT), path)
    return status === 200 ? JSON.parse(text) : new Error(text)
  }

  test('two containers may listen on the same port, which only their endpoints can reach', async () => {
    await applyProbes()
    const [ownAddress, otherAddress] = (await call('one', '/address')) as { address: string; port: number }[]
    expect(ownAddress).toEqual({ address: '::', family: 'IPv6', port: PORT })
    expect(otherAddress?.address).toBe('127.0.0.1')
    expect(listeningAddresses(PORT)).toEqual([])
    const isOnHost = !['namespace', 'pasta'].includes(harness.host.network.kind)
    expect(listeningAddresses(otherAddress?.port ?? 0)).toEqual(isOnHost ? [LOOPBACK] : [])
    await expect(get({ kind: 'tcp', host: '127.0.0.1', port: PORT }, '/env')).rejects.toThrow('ECONNREFUSED')
  })

  test('a container sees its own environment and not the server’s', async () => {
    process.env['SERVER_SECRET'] = 'secret of the server'
    await applyProbes()
    const env = await call('one', '/env')
    delete process.env['SERVER_SECRET']
    expect(env).toMatchObject({ SECRET: 'known to api only' })
    expect(env).not.toHaveProperty('SERVER_SECRET')
    // Without root and a sandbox, a container can read the server’s environment. The driver reports that as a limitation.
    if (!isRoot && harness.host.sandbox === 'none') return
    expect(await call('one', `/read?/proc/${process.pid}/environ`)).toBeInstanceOf(Error)
  })

  test('a container cannot access the state of the server, or files, processes and sockets of another tenant', async ({
    skip,
  }) => {
    if (!isRoot) skip('without root, containers have no separate uids')
    await applyProbes()
    const { stateDir, imagesDir } = harness.options
    const privateDir = join(stateDir, 'shut')
    mkdirSync(privateDir, { mode: 0o700 })
    writeFileSync(join(privateDir, 'file'), 'x')
    const otherDir = join(stateDir, 'containers/two/api')
    const foreignPid = readFileSync(join(otherDir, 'runs/1/pids'), 'utf8').split(' ')[1] ?? ''
    const forbidden = [
      `/read?${join(privateDir, 'file')}`,
      `/read?${join(imagesDir, 'other/app/main.cjs')}`,
      `/read?${join(stateDir, 'uids.json')}`,
      `/read?${join(stateDir, 'containers/two/workload.json')}`,
      `/read?${join(stateDir, 'containers/one/workload.json')}`,
      `/read?${join(otherDir, 'record.json')}`,
      `/read?${join(otherDir, 'log')}`,
      `/read?${join(otherDir, 'disk.img')}`,
      `/read?${join(stateDir, 'containers/one/api/disk.img')}`,
      `/list?${join(otherDir, 'disk/home')}`,
      `/write?${join(imagesDir, 'probe/app/main.cjs')}`,
      `/write?${join(stateDir, 'containers/one/api/log')}`,
      `/list?/run/shoal/${harness.host.label}/published`,
      `/list?/run/shoal/${harness.host.label}/${shortHash('two/api')}`,
      `/kill?${process.pid}`,
      `/kill?${foreignPid}`,
    ]
    const results = await Promise.all(forbidden.map(async (path) => [path, await call('one', path)] as const))
    const granted = results.filter(([, result]) => !(result instanceof Error))
    expect(granted).toEqual([])
    expect(await call('one', `/write?${join(stateDir, 'containers/one/api/disk/home/file')}`)).toBeNull()
    expect(await call('one', '/read?main.cjs')).toContain('createServer')
  })

  test('a container keeps access to its files when its uid changes', async ({ skip }) => {
    if (!isRoot) skip('without root, containers have no separate uids')
    await applyProbes()
    const file = join(harness.options.stateDir, 'containers/one/api/disk/home/file')
    expect(await call('one', `/write?${file}`)).toBeNull()
    await harness.runtime.close('stop')
    const uidsFile = join(harness.options.stateDir, 'uids.json')
    const uids: Record<string, number> = JSON.parse(readFileSync(uidsFile, 'utf8'))
    const uid = (uids['version one'] ?? 0) + 50
    writeFileSync(uidsFile, JSON.stringify({ ...uids, 'version one': uid }))
    await harness.restart()
    await until(async () => expect(await call('one', `/write?${file}`)).toBeNull())
    const runsDir = join(harness.options.stateDir, 'containers/one/api/runs')
    const [, pid] = readFileSync(join(runsDir, readdirSync(runsDir)[0] ?? '', 'pids'), 'utf8').split(' ')
    // The file is on a disk that only the container mounts.
    expect(statSync(`/proc/${pid}/root${file}`).uid).toBe(uid)
  })

  test('a link to the socket of another container is not used as an endpoint', async () => {
    await applyProbes()
    const { path: otherSocket } = harness.directory.endpoint('two', 'api', PORT) as Extract<
      PortEndpoint,
      { kind: 'unix' }
    >
    const socketDir = ((await call('one', '/env')) as Record<string, string>)['SHOAL_SOCKETS'] ?? ''
    for (const port of [PORT, OTHER_PORT]) execFileSync('ln', ['-sf', otherSocket, join(socketDir, `${port}.sock`)])
    expect(await call('one', '/env')).toMatchObject({ SHOAL_SOCKETS: socketDir })
    await expect(get(harness.directory.endpoint('one', 'api', OTHER_PORT), '/env')).rejects.toThrow(
      /ENOENT|ECONNREFUSED/,
    )
  })
})

function get(endpoint: PortEndpoint | null, path: string): Promise<{ status: number; text: string }> {
  const options: RequestOptions =
    endpoint?.kind === 'unix' ? { socketPath: endpoint.path, path } : { ...endpoint, path }
  return new Promise((resolve, reject) => {
    const call = request({ ...options, agent: false }, async (response) => {
      const pieces: Buffer[] = []
      for await (const piece of response) pieces.push(piece)
      resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() })
    })
    call.on('error', reject)
    call.end()
  })
}

const LOOPBACK = '0100007F'

/** Returns the local addresses with a TCP listener on `port`, in the format of the kernel. */
function listeningAddresses(port: number): string[] {
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  const sockets = lines.map((line) => line.trim().split(/\s+/)).filter(([, , , state]) => state === '0A')
  const local = sockets.map(([, address = '']) => address.split(':'))
  return local.filter(([, number = '']) => Number.parseInt(number, 16) === port).map(([address = '']) => address)
}
