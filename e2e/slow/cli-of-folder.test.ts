import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { stopPostgresOf, hostEnvironment, makeDataDir, makeReadyDataDir } from '../support/shoal.ts'

const root = join(import.meta.dirname, '../..')
/** A copy of the repository, because other tests run servers in the original folder. */
const folder = mkdtempSync(join(tmpdir(), 'shoal-checkout-'))
const dataDir = makeReadyDataDir()
const cliFile = join(folder, 'server/src/cli.ts')
let server: ServerProcess

const cli = (env: Record<string, string>, ...args: string[]) =>
  promisify(execFile)(process.execPath, [cliFile, ...args, '--json'], {
    cwd: folder,
    env: { ...hostEnvironment(), ...env },
  })

beforeAll(async () => {
  for (const name of ['server/src', 'server/migrations', 'server/package.json', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'server'), { recursive: true })
  for (const name of ['node_modules', 'server/node_modules'])
    if (existsSync(join(root, name))) symlinkSync(join(root, name), join(folder, name))
  server = await startProcess({ SHOAL_DATA_DIR: dataDir, SHOAL_ON_EXIT: 'stop' }, join(folder, 'server/src/main.ts'))
  await server.ready()
})

afterAll(async () => {
  server?.signal('SIGKILL')
  await server?.ended
  await stopPostgresOf(dataDir)
  for (const dir of [folder, dataDir]) rmSync(dir, { recursive: true, force: true })
})

test('a command without SHOAL_DATA_DIR uses the installation of the server that runs in the same folder, and prints its path', async () => {
  const command = await cli({}, 'user', 'add', '--email', 'mira@acme.dev', '--name', 'Mira')
  const { password } = JSON.parse(command.stdout) as { password: string }
  expect(command.stderr).toContain(`Using the installation in ${dataDir}, which process ${server.pid} serves.`)
  expect(existsSync(join(folder, '.shoal'))).toBe(false)
  const signIn = await fetch(`${server.url}/api/auth/signin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'mira@acme.dev', password }),
  })
  expect(signIn.status).toBe(201)
})

const sandbox = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child']
const hasSandbox = spawnSync('unshare', [...sandbox, 'true']).status === 0

test.skipIf(!hasSandbox)('a sandboxed program cannot impersonate the folder’s server', async () => {
  const program = ['/bin/sh', '-c', `exec sh -c 'echo ready; sleep 100; :' "$MAIN_FILE"`]
  const env = {
    ...hostEnvironment(),
    SHOAL_DATA_DIR: dataDir,
    DATABASE_URL: 'postgres://hostile@127.0.0.1:1/hostile',
    MAIN_FILE: join(folder, 'server/src/main.ts'),
  }
  const hostile = spawn('unshare', [...sandbox, ...program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await once(hostile.stdout, 'data')
    const { stdout, stderr } = await cli({}, 'status')
    expect(stderr).toContain(`which process ${server.pid} serves.`)
    expect(JSON.parse(stdout)).toMatchObject({ database: 'ok' })
  } finally {
    hostile.kill('SIGKILL')
  }
})

test('SHOAL_DATA_DIR selects another installation', async () => {
  const otherDataDir = makeDataDir()
  try {
    const { stdout, stderr } = await cli({ SHOAL_DATA_DIR: otherDataDir }, 'status')
    expect(JSON.parse(stdout)).toMatchObject({ database: 'ok', users: 0 })
    expect(stderr).not.toContain('Using the installation')
  } finally {
    await stopPostgresOf(otherDataDir)
    rmSync(otherDataDir, { recursive: true, force: true })
  }
})

test('without SHOAL_DATA_DIR, a backup uses the same installation, and a restore is rejected while its server runs', async () => {
  const backup = join(folder, 'shoal.tar')
  await cli({}, 'backup', '--to', backup)
  await expect(cli({}, 'restore', '--from', backup, '--force')).rejects.toThrow(`process ${server.pid} `)
  const { facts } = (await (await fetch(`${server.url}/readyz`)).json()) as { facts: Record<string, number> }
  expect(facts['lastBackupSecondsAgo']).toBeLessThan(600)
})
