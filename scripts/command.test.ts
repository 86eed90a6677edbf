import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
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
