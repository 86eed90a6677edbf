import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const PRELOAD = fileURLToPath(new URL('./preload.cjs', import.meta.url))

let sockets: string

beforeEach(() => {
  sockets = mkdtempSync(join(tmpdir(), 'shoal-sockets-'))
})

afterEach(() => rmSync(sockets, { recursive: true }))

/** Runs `call`, and returns the address that the program sees, whether its callback was called, and the existing sockets. */
async function listen(
  call: string,
  env: Record<string, string> = { SHOAL_SOCKETS: sockets, SHOAL_PORTS: '3000,4000' },
) {
  const script = `
    const server = require('node:net').createServer()
    let called = false
    const cb = () => { called = true }
    server.on('listening', () => setImmediate(() => {
      console.log(JSON.stringify({ address: server.address(), called, sockets: require('node:fs').readdirSync(process.argv[1]) }))
      server.close(() => process.exit(server.address()?.port ? 1 : 0))
    }))
    ${call}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--require', PRELOAD, '-e', script, sockets], { env })
  return JSON.parse(stdout)
}

test.each([
  'server.listen(4000, cb)',
  'server.listen("4000", cb)',
  'server.listen(4000, "0.0.0.0", 100, cb)',
  'server.listen(4000, undefined, cb)',
  'server.listen({ port: 4000, host: "::" }, cb)',
  'server.listen({ port: "4000" }); cb()',
])('listening on a declared port creates a unix socket, and address() reports the port: %s', async (call) => {
  expect(await listen(call)).toEqual({
    address: { address: '::', family: 'IPv6', port: 4000 },
    called: true,
    sockets: ['4000.sock'],
  })
})

test.each([
  'server.listen(cb)',
  'server.listen(0, cb)',
  'server.listen(0, "::", cb)',
  'server.listen({ port: 0, host: "0.0.0.0", backlog: 5 }, cb)',
])('any other port is opened on loopback only: %s', async (call) => {
  const { address, called, sockets } = await listen(call)
  expect(address).toMatchObject({ address: '127.0.0.1', family: 'IPv4' })
  expect({ called, sockets }).toEqual({ called: true, sockets: [] })
})

test('listening on a path is not redirected', async () => {
  const { address } = await listen(`server.listen(${JSON.stringify(join(sockets, 'own'))}, cb)`)
  expect(address).toBe(join(sockets, 'own'))
})

test('the socket of a killed program is replaced', async () => {
  writeFileSync(join(sockets, '4000.sock'), '')
  expect(await listen('server.listen(4000, cb)')).toMatchObject({ sockets: ['4000.sock'] })
  expect(readdirSync(sockets)).toEqual([])
})
