import { chmodSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ContainerSpec } from '../driver.ts'
import { until } from '../until.ts'
import { describeKinds, standardKinds } from './host-harness.ts'
import { type ProcessHarness, openProcessHarness } from './process-harness.ts'

/** A program of the operator, not of the image. */
const PROGRAM = `#!/usr/bin/env node
if (process.env.FAILS) {
  console.log('no database')
  process.exit(3)
}
require('node:http')
  .createServer((request, response) => response.end(process.argv[2] + ' ' + request.url))
  .listen(process.env.OWN_PORT, '127.0.0.1', () => console.log('serving'))
`

describeKinds(standardKinds, (kind) => {
  let harness: ProcessHarness
  let file: string

  beforeEach(async () => {
    harness = await openProcessHarness(kind)
    await harness.runtime.start()
    await harness.directory.start()
    file = join(dirname(harness.options.stateDir), 'provided-program')
    writeFileSync(file, PROGRAM)
    chmodSync(file, 0o755)
  })

  afterEach(() => harness.dispose())

  const apply = (overrides: Partial<ContainerSpec> = {}) =>
    harness.runtime.apply({
      id: '1.1',
      tenant: 'org',
      version: '1',
      image: 'image-1',
      containers: [
        {
          name: 'hasura',
          command: ['serve'],
          provided: { file, portVariable: 'OWN_PORT' },
          env: { OWN_PORT: '8080' },
          resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
          restart: 'always',
          ports: [8080],
          stopGraceMs: 2_000,
          ...overrides,
        },
      ],
    })

  test('a provided program is reachable at the declared port of its container, even after a restart', async () => {
    await apply()
    await until(async () => expect(await get('/healthz')).toBe('serve /healthz'))
    // A changed command replaces the container.
    await apply({ command: ['serve-again'] })
    await until(async () => expect(await get('/v1/graphql')).toBe('serve-again /v1/graphql'))
    expect(await harness.runtime.tail('1.1', 'hasura', 5)).toContain('serving')
    await harness.runtime.remove('1.1')
    expect(await harness.leftovers()).toEqual([])
  })

  test('the failure of a provided program is the failure of its container', async () => {
    await apply({ env: { OWN_PORT: '8080', FAILS: 'yes' } })
    await until(async () =>
      expect(await harness.runtime.observe()).toMatchObject([
        { state: 'backoff', lastRun: { exitCode: 3, how: 'error' } },
      ]),
    )
    expect(await harness.runtime.tail('1.1', 'hasura', 5)).toContain('no database')
  })

  test('a missing program is reported', async () => {
    await apply({ provided: { file: '/no/such/program', portVariable: 'OWN_PORT' } })
    await until(async () =>
      expect(await harness.runtime.observe()).toMatchObject([
        { state: 'failed', reason: expect.stringContaining('/no/such/program is not an executable file') },
      ]),
    )
  })

  function get(path: string): Promise<string> {
    const endpoint = harness.directory.endpoint('1.1', 'hasura', 8080)
    if (endpoint?.kind !== 'unix') throw new Error('no endpoint')
    return new Promise((resolve, reject) => {
      const call = request({ socketPath: endpoint.path, path }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve(text))
      })
      call.on('error', reject).end()
    })
  }
})
