import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { openKeyRing } from '../sealing/key-ring.ts'
import { createSealer } from '../sealing/sealer.ts'
import { createLog } from './log.ts'
import { networkTargets } from './network-targets.ts'
import { createSquidBackend } from './squid-backend.ts'

let stateDir: string
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'shoal-backend-'))
  chmodSync(stateDir, 0o755)
})
afterEach(() => rmSync(stateDir, { recursive: true, force: true }))

test('a command that only ends programs installs no tools for builds', async () => {
  const config = loadConfig({ SHOAL_DATA_DIR: stateDir, SHOAL_LOG_LEVEL: 'silent', SHOAL_NETWORK: 'none' })
  const sealer = createSealer({ ring: openKeyRing({ dataDir: stateDir }) })
  const options = { stateDir, targets: networkTargets(config, []), sealer, log: createLog(config), installation: 'i' }
  const runtime = await createSquidBackend(config, options).openRuntime()
  try {
    await runtime.start()
    expect(await runtime.observe()).toEqual([])
  } finally {
    await runtime.close('keep')
  }
  expect(readdirSync(stateDir).filter((name) => ['toolchain', 'builds', 'oci'].includes(name))).toEqual([])
})
