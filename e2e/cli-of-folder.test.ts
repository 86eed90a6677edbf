import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProcess, type ServerProcess } from './support/server-process.ts'
import { endPostgresOf, hostEnvironment, makeDataDir, makeReadyDataDir } from './support/shoal.ts'

const root = join(import.meta.dirname, '..')
/** A separate checkout, because other tests run servers from this one. */
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
  await endPostgresOf(dataDir)
  for (const dir of [folder, dataDir]) rmSync(dir, { recursive: true, force: true })
})

test('a command uses and names the installation of the server in its folder', async () => {
  const added = await cli(
    {},
    'user',
    'add',
    '--email',
    'mira@acme.dev',
    '--name',
    'Mira',
    '--password',
    'correct-horse',
  )
  expect(added.stderr).toContain(`Using the installation in ${dataDir}, which process ${server.pid} serves.`)
  expect(existsSync(join(folder, '.shoal'))).toBe(false)
  const signedIn = await fetch(`${server.url}/api/auth/signin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'mira@acme.dev', password: 'correct-horse' }),
  })
  expect(signedIn.status).toBe(201)
})

test('a command with SHOAL_DATA_DIR uses that installation', async () => {
  const elsewhere = makeDataDir()
  try {
    const { stdout, stderr } = await cli({ SHOAL_DATA_DIR: elsewhere }, 'status')
    expect(JSON.parse(stdout)).toMatchObject({ database: 'ok', users: 0 })
    expect(stderr).not.toContain('Using the installation')
  } finally {
    await endPostgresOf(elsewhere)
    rmSync(elsewhere, { recursive: true, force: true })
  }
})

test('a restore without SHOAL_DATA_DIR finds the installation in use', async () => {
  const backup = join(folder, 'shoal.tar')
  await cli({}, 'backup', '--to', backup)
  await expect(cli({}, 'restore', '--from', backup, '--force')).rejects.toThrow(`process ${server.pid} `)
  const { facts } = (await (await fetch(`${server.url}/readyz`)).json()) as { facts: Record<string, number> }
  expect(facts['lastBackupSecondsAgo']).toBeLessThan(60)
})
