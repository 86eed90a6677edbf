import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startIdleNode } from '../support/idle-node.ts'
import { startShoal, type ShoalConnection } from '../support/shoal.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The connection to the Shoal that all test files of the console share. Each file has its own organizations and users. */
    consoleShoal: ShoalConnection
  }
}

/** Starts the Shoal that all test files of the console share, with the settings that they need. Returns a function that stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const node = await startIdleNode()
  const configFolder = mkdtempSync(join(tmpdir(), 'shoal-rpc-'))
  const config = join(configFolder, 'rpc.json')
  const nodeUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  const upstreams = [{ name: 'own node', url: nodeUrl, archive: true }]
  writeFileSync(config, JSON.stringify({ chains: { eth: { upstreams } } }))
  const closeNode = () => {
    node.close()
    rmSync(configFolder, { recursive: true, force: true })
  }
  try {
    const shoal = await startShoal({
      SHOAL_RUNTIME: 'sim',
      SHOAL_OUTBOX: 'true',
      SHOAL_TERMS_URL: 'https://example.com/terms',
      SHOAL_DOCUMENTATION_URL: 'https://example.com/docs',
      SHOAL_SUPPORT_EMAIL: 'help@example.com',
      SHOAL_GITHUB_CLIENT_ID: 'a-client',
      SHOAL_GITHUB_CLIENT_SECRET: 'a-secret',
      SHOAL_ALERTS_ALLOW_PRIVATE: 'true',
      SHOAL_RPC_CONFIG: config,
    })
    const { url, gatewayUrl, outboxUrl, settings } = shoal
    project.provide('consoleShoal', { url, gatewayUrl, outboxUrl, settings })
    return async () => {
      closeNode()
      await shoal.end()
    }
  } catch (error) {
    closeNode()
    throw error
  }
}
