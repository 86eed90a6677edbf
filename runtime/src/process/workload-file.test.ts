import { mkdtempSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Workload } from '../driver.ts'
import { openProcessHarness } from './process-harness.ts'
import { type EnvironmentSealer, WorkloadFiles } from './workload-file.ts'
import { until } from '../until.ts'

/** A sealer with replaceable keys: the first key seals, and all keys open. */
function makeSealer() {
  const state = { keys: ['first'] }
  const sealer: EnvironmentSealer = {
    seal: (plain, context) => `${state.keys[0]}:${Buffer.from(context + plain).toString('hex')}`,
    open: (sealed, context) => {
      const [key = '', text = ''] = sealed.split(':')
      const plain = Buffer.from(text, 'hex').toString()
      if (!state.keys.includes(key) || !plain.startsWith(context)) throw new Error(`No key ${key}`)
      return plain.slice(context.length)
    },
    isCurrent: (sealed) => sealed.startsWith(`${state.keys[0]}:`),
  }
  return { state, sealer }
}

const workload: Workload = {
  id: 'one',
  tenant: 'org',
  version: 'one',
  image: 'image-1',
  containers: [
    {
      name: 'processor',
      command: ['node', 'main.cjs'],
      env: { SECRET: 'canary', BEHAVIOUR: '{}' },
      resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
      restart: 'on-failure',
      ports: [3000],
      stopGraceMs: 5000,
    },
  ],
}

let dir: string
let file: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-workload-'))
  file = join(dir, 'workload.json')
})
afterEach(() => rmSync(dir, { recursive: true }))

test('a file has names and ports, but no environment in plain text', () => {
  const { sealer } = makeSealer()
  new WorkloadFiles(sealer).write(file, workload)
  const text = readFileSync(file, 'utf8')
  expect(text).not.toContain('canary')
  expect(JSON.parse(text).containers).toMatchObject([{ name: 'processor', ports: [3000] }])
  expect(new WorkloadFiles(sealer).read(file)).toEqual(workload)
})

test('a file of an earlier release, in plain text, is sealed when it is read', () => {
  const { sealer } = makeSealer()
  const containers = workload.containers.map((spec) => ({ ...spec, stopGraceMs: undefined }))
  writeFileSync(file, JSON.stringify({ ...workload, containers }))
  expect(new WorkloadFiles(sealer).read(file)).toEqual(workload)
  expect(readFileSync(file, 'utf8')).not.toContain('canary')
})

test('a file is sealed again after the key was replaced, at the next read or while the server runs', () => {
  const { sealer, state } = makeSealer()
  const files = new WorkloadFiles(sealer)
  files.write(file, workload)
  state.keys = ['second', 'first']
  files.sealAgain()
  state.keys = ['second']
  expect(new WorkloadFiles(sealer).read(file)).toEqual(workload)
  state.keys = ['third', 'second']
  expect(new WorkloadFiles(sealer).read(file)).toEqual(workload)
  state.keys = ['third']
  expect(new WorkloadFiles(sealer).read(file)).toEqual(workload)
})

test('a deleted file is not created again', () => {
  const { sealer, state } = makeSealer()
  const files = new WorkloadFiles(sealer)
  files.write(file, workload)
  files.delete(file)
  state.keys = ['second', 'first']
  files.sealAgain()
  expect(existsSync(file)).toBe(false)
})

test('a sealed environment cannot be moved to another workload', () => {
  const { sealer } = makeSealer()
  new WorkloadFiles(sealer).write(file, workload)
  writeFileSync(file, readFileSync(file, 'utf8').replace('"id":"one"', '"id":"two"'))
  const files = new WorkloadFiles(sealer)
  expect(files.read(file)).toBeNull()
  expect(files.problems()).toHaveLength(1)
})

test('a workload whose key was removed while no server ran is removed with a warning, and can be applied again', async () => {
  const { sealer, state } = makeSealer()
  const harness = await openProcessHarness({ sandbox: 'none', limits: 'none' }, { sealer })
  try {
    await harness.runtime.apply(workload)
    const isRunning = async () => expect(await harness.runtime.observe()).toMatchObject([{ state: 'running' }])
    await until(isRunning)
    await harness.kill()
    state.keys = ['second']
    const { runtime } = harness.unstarted()
    expect((await runtime.start()).join()).toContain('The environments of 1 running version were sealed with a key')
    harness.runtime = runtime
    await harness.runtime.apply(workload)
    await until(isRunning)
    expect(readFileSync(join(harness.options.stateDir, 'containers/one/workload.json'), 'utf8')).toContain('second:')
  } finally {
    await harness.dispose()
  }
})
