import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openBrowserServer } from '../support/browser.ts'
import { startIdleNode } from '../support/idle-node.ts'
import { startShoal, type ShoalConnection } from '../support/shoal.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The connection to the Shoal that all test files of the console share. Each file has its own organizations and users. */
    consoleShoal: ShoalConnection
    /** The address of one browser for each worker. Workers have separate browsers, because pages of one browser share its clipboard. */
    consoleBrowsers: string[]
  }
}

/** Starts the Shoal and the browsers that the test files of the console share. Returns a function that ends them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using cleanup = new AsyncDisposableStack()
  const node = await startIdleNode()
  cleanup.defer(() => void node.close())
  const configFolder = mkdtempSync(join(tmpdir(), 'shoal-rpc-'))
  cleanup.defer(() => rmSync(configFolder, { recursive: true, force: true }))
  const config = join(configFolder, 'rpc.json')
  const nodeUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  const upstreams = [{ name: 'own node', url: nodeUrl, archive: true }]
  writeFileSync(config, JSON.stringify({ chains: { eth: { upstreams } } }))
  const { url, gatewayUrl, outboxUrl, settings, end } = await startShoal({
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
  cleanup.defer(end)
  project.provide('consoleShoal', { url, gatewayUrl, outboxUrl, settings })
  const endpoints: string[] = []
  for (let worker = 0; worker < project.vitest.config.maxWorkers; worker++) {
    const browser = await openBrowserServer()
    cleanup.defer(() => browser.close())
    endpoints.push(browser.wsEndpoint())
  }
  project.provide('consoleBrowsers', endpoints)
  const resources = cleanup.move()
  return () => resources.disposeAsync()
}
