import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '../command.ts'
import { root } from '../root.ts'

const runInstaller = (...args: string[]) => runCommand('node', [join(root, 'scripts/install/main.ts'), ...args])

test('an unknown command is rejected, and does not uninstall', async () => {
  const { code, output } = await runInstaller('instal', '--dry-run')
  expect(output).toBe('Unknown command: instal. Commands: install, upgrade, uninstall\n')
  expect(code).toBe(1)
})

test.each(['abc', '0', '-1', ''])('upgrade rejects --timeout=%s', async (seconds) => {
  const { code, output } = await runInstaller('upgrade', '--dry-run', `--timeout=${seconds}`)
  expect(output).toContain('must be a positive number of seconds')
  expect(code).toBe(1)
})
