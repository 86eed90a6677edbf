import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const go = process.env['SHOAL_TEST_GO']

test.skipIf(!go)('the cluster’s policy agent passes its own tests, with real packets', async () => {
  const cwd = join(import.meta.dirname, '../../test/kube')
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' }
  // With -trimpath, Go reuses the packages that it has compiled for the cluster. Only with -v does it print skipped tests.
  const args = ['test', '-trimpath', '-count=1', '-v', './policy']
  const child = spawn(go ?? '', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, error, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  expect(out).toContain('--- PASS: TestPolicies ')
  expect(`${out}${error}`).not.toContain('SKIP')
  expect(code, `${out}${error}`).toBe(0)
})
