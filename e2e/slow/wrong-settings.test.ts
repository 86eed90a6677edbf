import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startProcess } from '../support/server-process.ts'
import { makeDataDir, processesIn, startShoal } from '../support/shoal.ts'

// A server with an invalid setting must report the setting in one sentence, exit with 1, and leave nothing running.
const dataDir = makeDataDir()
const file = join(dataDir, 'a-file')
writeFileSync(file, 'chains: nonsense')
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

async function startupErrors(env: Record<string, string>): Promise<string> {
  const server = await startProcess({ SHOAL_DATA_DIR: dataDir, SHOAL_ON_EXIT: 'stop', ...env })
  try {
    expect(await server.ended).toBe(1)
  } finally {
    server.signal('SIGKILL')
  }
  // This omits the JSON lines of the server's log.
  return server
    .output()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))
    .join('\n')
}

test('the server reports the name, the value and the allowed values of each invalid setting', async () => {
  expect(await startupErrors({ SHOAL_PORT: 'abc' })).toBe(
    'SHOAL_PORT is "abc", but must be a whole number from 0 to 65535.',
  )
  const invalid = {
    SHOAL_PORT: ['70000', 'SHOAL_PORT is "70000", but must be a whole number from 0 to 65535.'],
    SHOAL_PUBLIC_URL: ['here', 'SHOAL_PUBLIC_URL is "here", but must be a URL such as https://shoal.example.com.'],
    SHOAL_RUNTIME: ['docker', 'SHOAL_RUNTIME is "docker", but must be process, sim or kubernetes.'],
    SHOAL_ROLES: [
      'api,x',
      'SHOAL_ROLES is "api,x", but must be one or more of api, worker, gateway, separated by commas.',
    ],
    SHOAL_TRUST_PROXY: ['yes', 'SHOAL_TRUST_PROXY is "yes", but must be 0, 1, true or false.'],
    SHOAL_BUILD_MINUTES: ['-1', 'SHOAL_BUILD_MINUTES is "-1", but must be a number above 0.'],
    SHOAL_IMAGES_KEPT: ['1.5', 'SHOAL_IMAGES_KEPT is "1.5", but must be a whole number of at least 1.'],
    SHOAL_METRICS_TOKEN: [
      'hunter2',
      'SHOAL_METRICS_TOKEN must be at least 16 characters long. (Its value is not shown.)',
    ],
    SHOAL_PORTAL_URL: [
      '//u:hunter2@x',
      'SHOAL_PORTAL_URL must be a URL such as https://shoal.example.com. (Its value is not shown.)',
    ],
  }
  const entries = Object.entries(invalid)
  const output = await startupErrors(Object.fromEntries(entries.map(([name, [value = '']]) => [name, value])))
  expect(output.split('\n')).toEqual(entries.map(([, [, message]]) => message))
})

test.each([
  [
    { SHOAL_DATA_DIR: join(file, 'x') },
    `SHOAL_DATA_DIR is "${file}/x", but must be a directory that the server can create and write to (ENOTDIR).`,
  ],
  [
    { SHOAL_RPC_CONFIG: '/nowhere.yaml' },
    'SHOAL_RPC_CONFIG is "/nowhere.yaml", but must be a file that the server can read (ENOENT).',
  ],
  [{ SHOAL_RPC_CONFIG: file }, `The RPC configuration is not valid:\n  ${file}:1: chains`],
  [{ SHOAL_SECRETS_KEY: 'short' }, 'SHOAL_SECRETS_KEY must contain keys of 32 bytes in base64'],
  [{ SHOAL_HOST: '192.0.2.1' }, 'listen EADDRNOTAVAIL: address not available 192.0.2.1'],
  [
    { DATABASE_URL: 'postgres://shoal:hunter2@127.0.0.1:1/shoal' },
    'The database is unavailable: connect ECONNREFUSED 127.0.0.1:1',
  ],
])('the server reports an error that it finds while it starts: %s', async (env, message) => {
  const output = await startupErrors(env)
  expect(output).toContain(message)
  expect(output).not.toContain('    at ')
  expect(output).not.toContain('hunter2')
  expect(processesIn(dataDir)).toEqual([])
})

test('startShoal leaves no Postgres running when the server does not start', async () => {
  const env = { SHOAL_RUNTIME: 'sim', SHOAL_ON_EXIT: 'keep', SHOAL_RPC_CONFIG: '/nowhere.yaml' }
  await expect(startShoal(env, dataDir)).rejects.toThrow('The server did not start')
  expect(processesIn(dataDir)).toEqual([])
})
