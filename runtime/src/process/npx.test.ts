import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tarOf } from '../build/archive-harness.ts'
import { testToolchain } from '../build/builder-harness.ts'
import { DEFAULT_NODE } from '../build/tools.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'
import { until } from '../until.ts'

const name = 'squid-typeorm-migration'

describe('npx in a container', () => {
  let harness: ProcessHarness
  let registry: Server
  let requests: string[]

  /** Serves a package that someone registered under the name of a command. */
  beforeEach(async () => {
    requests = []
    const manifest = { name, version: '1.0.0', bin: { [name]: 'bin.js' } }
    const tarball = gzipSync(
      tarOf([
        { path: 'package/package.json', content: JSON.stringify(manifest) },
        { path: 'package/bin.js', content: '#!/usr/bin/env node\nconsole.log("hijacked")', mode: 0o755 },
      ]),
    )
    registry = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`)
      if (request.method !== 'GET') return response.writeHead(404).end()
      if (request.url?.endsWith('.tgz')) return response.end(tarball)
      const dist = { tarball: `http://${request.headers.host}/${name}.tgz` }
      const document = { name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { ...manifest, dist } } }
      return response.end(JSON.stringify(document))
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
    // `none`: no separate network. In its own network, the container could not reach the registry of this test.
    harness = await openProcessHarness({}, { network: 'none' })
    const toolchain = await testToolchain()
    makeImage(harness.options.imagesDir, 'squid', 'console.log("installed")', {
      files: { 'package.json': '{}' },
      toolchain: { binDir: toolchain.binDir, nodeBinDir: (await toolchain.node(DEFAULT_NODE)).binDir },
    })
  })

  afterEach(async () => {
    await harness?.dispose()
    registry.close()
  })

  const runNpx = async (command: string[], env: Record<string, string> = {}) => {
    const { port } = registry.address() as AddressInfo
    await harness.runtime.apply({
      id: 'one',
      tenant: 'org',
      version: 'one',
      image: 'squid',
      containers: [
        {
          name: 'init',
          command: ['npx', ...command],
          env: { npm_config_registry: `http://127.0.0.1:${port}`, npm_config_update_notifier: 'false', ...env },
          resources: { cpuCores: 2, memoryBytes: 512 * 1024 * 1024 },
          restart: 'never',
          ports: [],
          stopGraceMs: 200,
        },
      ],
    })
    return until(async () => {
      const [observation] = await harness.runtime.observe()
      if (!observation?.lastRun) throw new Error('The program is running')
      return { exitCode: observation.lastRun.exitCode, output: await harness.runtime.tail('one', 'init', 50) }
    })
  }

  const downloads = () => requests.filter((request) => request.endsWith('.tgz'))

  test('does not download a package that the squid does not depend on', async () => {
    const { exitCode, output } = await runNpx([name, 'apply'])
    expect(exitCode).toBe(1)
    expect(output.join('\n')).toMatch(/npx canceled due to missing packages/)
    expect(output.join('\n')).not.toContain('hijacked')
    expect(downloads()).toEqual([])
  })

  test('downloads such a package when the squid sets npm_config_yes', async () => {
    const { exitCode, output } = await runNpx([name, 'apply'], { npm_config_yes: 'true' })
    expect({ exitCode, output }).toMatchObject({ exitCode: 0, output: expect.arrayContaining(['hijacked']) })
    expect(downloads()).toHaveLength(1)
  })

  test('runs a command that is installed', async () => {
    expect(await runNpx(['node', 'main.cjs'])).toEqual({ exitCode: 0, output: ['installed'] })
    expect(requests).toEqual([])
  })
})
