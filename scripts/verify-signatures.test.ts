import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCommand } from './command.ts'

let dir: string
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'shoal-signatures-'))))
afterEach(() => rmSync(dir, { recursive: true }))

test('npm run verify-signatures reports in one line that the registry cannot be reached, even within npm run --silent', async () => {
  // npm sets npm_config_loglevel for the scripts that it runs.
  const env = {
    ...process.env,
    npm_config_loglevel: 'silent',
    npm_config_cache: dir,
    npm_config_registry: 'http://127.0.0.1:1',
  }
  const { code, output } = await runCommand('node', ['scripts/verify-signatures.ts'], { env })
  expect(output).toMatch(/^Signatures were not verified: .*(ECONNREFUSED|ENOTFOUND|EAI_AGAIN).*\n$/)
  expect(code).toBe(0)
}, 60_000)
