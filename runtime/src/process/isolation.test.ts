import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ContainerSpec, Endpoint } from '../driver.ts'
import { shortHash } from './host.ts'
import { describeKinds } from './host-harness.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'

const MIB = 1024 * 1024
/** Ports that are unlikely to be in use on this machine. */
const PORT = 41_217
const OTHER_PORT = 41_218
const isRoot = process.getuid?.() === 0

/** Serves HTTP on its ports; on request attempts to read, list and write files or to kill a process. */
const SPY = `
const http = require('node:http')
const fs = require('node:fs')
const perform = (url) => {
  const [, verb, argument] = url.match(/^.(\\w+)\\??(.*)$/)
  const subject = decodeURIComponent(argument)
  if (verb === 'env') return process.env
  if (verb === 'read') return fs.readFileSync(subject, 'utf8')
  if (verb === 'list') return fs.readdirSync(subject)
  if (verb === 'write') return fs.writeFileSync(subject, 'x')
  if (verb === 'kill') return process.kill(Number(subject), 0)
  if (verb === 'address') return [server.address(), other.address()]
}
const server = http.createServer((request, response) => {
  try { response.end(JSON.stringify(perform(request.url) ?? null)) } catch (error) { response.statusCode = 500; response.end(error.code) }
})
const other = http.createServer().listen(0, '0.0.0.0', () => server.listen(${PORT}, () => console.log('ready')))
`

const kinds = [{ sandbox: 'auto' }, { sandbox: 'none' }] as const

describeKinds(kinds, ({ sandbox }) => {
  let host: ProcessHarness

  beforeEach(async () => {
    host = await openProcessHarness({ sandbox })
    makeImage(host.options.imagesDir, 'spy', SPY)
    makeImage(host.options.imagesDir, 'other', SPY)
  })

  afterEach(() => host.dispose())

  const api: ContainerSpec = {
    name: 'api',
    command: ['node', 'main.cjs'],
    env: { SECRET: 'known to api only', LD_PRELOAD: '' },
    resources: { cpuCores: 1, memoryBytes: 256 * MIB },
    restart: 'on-failure',
    ports: [PORT, OTHER_PORT],
    stopGraceMs: 5000,
  }

  const applySpies = async () => {
    await host.runtime.apply({ id: 'one', tenant: 'one', version: 'one', image: 'spy', containers: [api] })
    await host.runtime.apply({ id: 'two', tenant: 'two', version: 'two', image: 'other', containers: [api] })
    await vi.waitFor(async () => expect(await call('one', '/env')).toBeTruthy(), { timeout: 10_000 })
    await vi.waitFor(async () => expect(await call('two', '/env')).toBeTruthy(), { timeout: 10_000 })
  }

  const call = async (id: string, path: string): Promise<unknown> => {
    const { status, text } = await get(host.directory.endpoint(id, 'api', PORT), path)
    return status === 200 ? JSON.parse(text) : new Error(text)
  }

  test('two containers may listen on the same port, which is reachable through their endpoints and not over the network', async () => {
    await applySpies()
    const [own, other] = (await call('one', '/address')) as { address: string; port: number }[]
    expect(own).toEqual({ address: '::', family: 'IPv6', port: PORT })
    expect(other?.address).toBe('127.0.0.1')
    expect(listeningAddresses(PORT)).toEqual([])
    expect(listeningAddresses(other?.port ?? 0)).toEqual([LOOPBACK])
    await expect(get({ kind: 'tcp', host: '127.0.0.1', port: PORT }, '/env')).rejects.toThrow('ECONNREFUSED')
  })

  test('a container sees its own environment and not that of the server', async () => {
    process.env['SERVER_SECRET'] = 'of the server'
    await applySpies()
    const env = await call('one', '/env')
    delete process.env['SERVER_SECRET']
    expect(env).toMatchObject({ SECRET: 'known to api only' })
    expect(env).not.toHaveProperty('SERVER_SECRET')
    // Without root and sandbox this is one of the limitations that the driver reports.
    if (!isRoot && host.host.sandbox === 'none') return
    expect(await call('one', `/read?/proc/${process.pid}/environ`)).toBeInstanceOf(Error)
  })

  test('a container reads neither the state of the server nor files, processes and sockets of another tenant', async ({
    skip,
  }) => {
    if (!isRoot) skip('without root there is no uid of its own')
    await applySpies()
    const { stateDir, imagesDir } = host.options
    const shut = join(stateDir, 'shut')
    mkdirSync(shut, { mode: 0o700 })
    writeFileSync(join(shut, 'file'), 'x')
    const two = join(stateDir, 'containers/two/api')
    const foreignPid = readFileSync(join(two, 'runs/1/pids'), 'utf8').split(' ')[1] ?? ''
    const forbidden = [
      `/read?${join(shut, 'file')}`,
      `/read?${join(imagesDir, 'other/app/main.cjs')}`,
      `/read?${join(stateDir, 'uids.json')}`,
      `/read?${join(stateDir, 'containers/two/workload.json')}`,
      `/read?${join(stateDir, 'containers/one/workload.json')}`,
      `/read?${join(two, 'record.json')}`,
      `/read?${join(two, 'log')}`,
      `/list?${join(two, 'home')}`,
      `/write?${join(imagesDir, 'spy/app/main.cjs')}`,
      `/write?${join(stateDir, 'containers/one/api/log')}`,
      `/list?/run/shoal/${host.host.label}/published`,
      `/list?/run/shoal/${host.host.label}/${shortHash('two/api')}`,
      `/kill?${process.pid}`,
      `/kill?${foreignPid}`,
    ]
    const results = await Promise.all(forbidden.map(async (path) => [path, await call('one', path)] as const))
    const granted = results.filter(([, result]) => !(result instanceof Error))
    expect(granted).toEqual([])
    expect(await call('one', `/write?${join(stateDir, 'containers/one/api/home/file')}`)).toBeNull()
    expect(await call('one', '/read?main.cjs')).toContain('createServer')
  })

  test('a socket that links to another container is not used', async () => {
    await applySpies()
    const { path: theirs } = host.directory.endpoint('two', 'api', PORT) as Extract<Endpoint, { kind: 'unix' }>
    const socketDir = ((await call('one', '/env')) as Record<string, string>)['SHOAL_SOCKETS'] ?? ''
    for (const port of [PORT, OTHER_PORT]) execFileSync('ln', ['-sf', theirs, join(socketDir, `${port}.sock`)])
    expect(await call('one', '/env')).toMatchObject({ SHOAL_SOCKETS: socketDir })
    await expect(get(host.directory.endpoint('one', 'api', OTHER_PORT), '/env')).rejects.toThrow(/ENOENT|ECONNREFUSED/)
  })
})

function get(endpoint: Endpoint | null, path: string): Promise<{ status: number; text: string }> {
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

/** Local addresses, as the kernel writes them, with a TCP listener on `port`. */
function listeningAddresses(port: number): string[] {
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  const sockets = lines.map((line) => line.trim().split(/\s+/)).filter(([, , , state]) => state === '0A')
  const local = sockets.map(([, address = '']) => address.split(':'))
  return local.filter(([, number = '']) => Number.parseInt(number, 16) === port).map(([address = '']) => address)
}
