import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from './command.ts'
import { endLeftovers, endProcessesOf } from './leftovers.ts'
import { root } from './root.ts'

test('runCommand returns the exit code and the output', async () => {
  const result = await runCommand('sh', ['-c', 'echo out; echo err >&2; exit 3'])
  expect(result).toMatchObject({ code: 3, output: expect.stringMatching(/^(out\nerr|err\nout)\n$/) })
})

test('runCommand returns code 127 and the name of a missing program', async () => {
  expect(await runCommand('no-such-program', [])).toMatchObject({
    code: 127,
    output: expect.stringContaining('no-such-program'),
  })
})

test('runCommand kills the remaining processes of the group when the command ends', async () => {
  // The sleep keeps the output open, so runCommand cannot return before the sleep ends.
  const { code, elapsedMs } = await runCommand('sh', ['-c', 'sleep 300 & exit 0'])
  expect(code).toBe(0)
  expect(elapsedMs).toBeLessThan(100_000)
})

const idle = ['-e', 'setInterval(() => undefined, 1000)']

test.runIf(process.platform === 'linux').each([
  ['environment', (folder: string) => spawn(process.execPath, idle, { env: { TMPDIR: folder } })],
  ['working folder', (folder: string) => spawn(process.execPath, idle, { cwd: folder, env: {} })],
  ['command line', (folder: string) => spawn(process.execPath, [...idle, folder], { env: {} })],
])('endProcessesOf finds and kills a process by a folder in its %s', async (_, start) => {
  const folder = mkdtempSync(join(tmpdir(), 'leftover-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { pid } = start(folder)
  await expect.poll(() => endProcessesOf('/no/such/folder', folder).map((found) => found.pid)).toContain(pid)
  expect(await endLeftovers(folder)).toEqual([])
})

test('run.mjs lists the valid commands when it is called with an unknown command', async () => {
  const { code, output } = await runCommand('node', ['scripts/run.mjs', 'no-such-command'], { cwd: root })
  expect(code).toBe(1)
  expect(output).toContain('start, serve, shoal')
})

test.each([
  ['a required package is missing', { dependency: null, optional: null }, false],
  ['an optional package is missing', { dependency: '2.0.0', optional: null }, true],
  ['an optional package has another version', { dependency: '2.0.0', optional: '1.0.0' }, false],
  ['all packages have the versions of the lockfile', { dependency: '2.0.0', optional: '2.0.0' }, true],
])('run.mjs determines whether the dependencies are installed: %s', async (_, versions, isInstalled) => {
  const folder = mkdtempSync(join(tmpdir(), 'run-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of ['scripts', 'node_modules/.bin', 'server/src']) mkdirSync(join(folder, path), { recursive: true })
  copyFileSync(join(root, 'scripts/run.mjs'), join(folder, 'scripts/run.mjs'))
  symlinkSync(process.execPath, join(folder, 'node_modules/.bin/node'))
  writeFileSync(join(folder, 'server/src/cli.ts'), "console.log('started')")
  const required = {
    'node_modules/dependency': { version: '2.0.0' },
    'node_modules/optional': { version: '2.0.0', optional: true },
  }
  const installed = Object.entries(versions).map(([name, version]) => [`node_modules/${name}`, version && { version }])
  const writeLockfile = (path: string, packages: object) =>
    writeFileSync(join(folder, path), JSON.stringify({ packages }))
  writeLockfile('package-lock.json', required)
  writeLockfile('node_modules/.package-lock.json', Object.fromEntries(installed))
  const { output } = await runCommand('node', ['scripts/run.mjs', 'shoal'], { cwd: folder })
  expect(output).toContain(isInstalled ? 'started' : 'The dependencies are not installed or do not match')
})
