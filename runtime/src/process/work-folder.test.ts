import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ContainerSpec } from '../driver.ts'
import { describeKinds } from './host-harness.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'

/** Performs the operations in TRIES and prints their results. */
const PROGRAM = `
const fs = require('node:fs')
const tries = JSON.parse(process.env.TRIES)
for (const [verb, path, text] of tries) {
  const at = path.replace('BESIDE', __dirname)
  try {
    fs[verb](at, text === 'recursive' ? { recursive: true } : (text ?? 'utf8'))
    console.log(JSON.stringify([verb, path, 'done']))
  } catch (error) {
    console.log(JSON.stringify([verb, path, error.code]))
  }
}
console.log('over')
setInterval(() => {}, 60_000)
`

const FILES = { 'package.json': '{"name":"squid"}', 'assets/abi.json': '[]', 'node_modules/a/index.js': '' }

const KINDS = [
  { sandbox: 'auto', workFolders: 'auto' },
  { sandbox: 'none', workFolders: 'auto' },
  { sandbox: 'auto', workFolders: 'links' },
  { sandbox: 'none', workFolders: 'links' },
] as const

type Try = [verb: string, path: string, text?: string]

describeKinds(KINDS, (kind) => {
  let host: ProcessHarness

  beforeEach(async () => {
    host = await openProcessHarness(kind)
    makeImage(host.options.imagesDir, 'squid', PROGRAM, { files: FILES })
  })

  afterEach(() => host.dispose())

  const start = async (name: string, tries: Try[], command = ['node', 'main.cjs']): Promise<Record<string, string>> => {
    const processor: ContainerSpec = {
      name: 'processor',
      command,
      env: { TRIES: JSON.stringify(tries) },
      resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
      restart: 'on-failure',
      ports: [],
      stopGraceMs: 5000,
    }
    await host.runtime.apply({ id: name, tenant: 'org', version: name, image: 'squid', containers: [processor] })
    const lines = await vi.waitFor(
      async () => {
        const written = await host.runtime.tail(name, 'processor', 50)
        expect(written.at(-1)).toBe('over')
        return written.slice(0, -1)
      },
      { timeout: 15_000, interval: 20 },
    )
    return Object.fromEntries(
      lines.map((line) => {
        const [verb, path, result]: [string, string, string] = JSON.parse(line)
        return [`${verb} ${path}`, result]
      }),
    )
  }

  const image = () => join(host.options.imagesDir, 'squid/app')

  test('a program writes to its work folder and folders of the image in it, and the image does not change', async () => {
    const results = await start('one', [
      ['mkdirSync', 'data', 'recursive'],
      ['writeFileSync', 'data/n.csv', 'a'],
      ['writeFileSync', 'state.json', '{}'],
      ['writeFileSync', 'assets/new.json', '{}'],
      ['readFileSync', 'data/n.csv'],
      ['readFileSync', 'assets/abi.json'],
      ['unlinkSync', 'assets/abi.json'],
      ['writeFileSync', 'assets/abi.json', '[1]'],
      ['mkdirSync', 'node_modules/b', 'recursive'],
    ])
    const { 'mkdirSync node_modules/b': shared, ...others } = results
    if (host.host.sandbox === 'bwrap' || host.host.uidOf('x') !== null) expect(shared).not.toBe('done')
    expect(new Set(Object.values(others))).toEqual(new Set(['done']))
    expect(readdirSync(image()).sort()).toEqual(['assets', 'main.cjs', 'node_modules', 'package.json'])
    expect(readdirSync(join(image(), 'assets'))).toEqual(['abi.json'])
    expect(readFileSync(join(image(), 'assets/abi.json'), 'utf8')).toBe('[]')
  })

  test('a program also writes beside its own file with overlays', async ({ skip }) => {
    if (host.host.workFolders !== 'overlay') skip('without overlays the path of the program is in the image')
    expect(await start('one', [['writeFileSync', 'BESIDE/beside.csv', 'a']])).toEqual({
      'writeFileSync BESIDE/beside.csv': 'done',
    })
    expect(existsSync(join(image(), 'beside.csv'))).toBe(false)
  })

  test('written files survive a crash, are private to the container, and are deleted with it', async () => {
    const tries: Try[] = [
      ['readFileSync', 'kept'],
      ['writeFileSync', 'kept', 'a'],
    ]
    expect(await start('one', tries)).toMatchObject({ 'readFileSync kept': 'ENOENT' })
    expect(await start('two', tries)).toMatchObject({ 'readFileSync kept': 'ENOENT' })
    await host.runtime.close('stop')
    await host.revive()
    await vi.waitFor(
      async () =>
        expect((await host.runtime.tail('one', 'processor', 50)).filter((line) => line.includes('readFile'))).toEqual([
          '["readFileSync","kept","ENOENT"]',
          '["readFileSync","kept","done"]',
        ]),
      { timeout: 15_000, interval: 20 },
    )
    await host.runtime.remove('one')
    expect(await start('one', tries)).toMatchObject({ 'readFileSync kept': 'ENOENT' })
    await host.runtime.remove('one')
    await host.runtime.remove('two')
    expect(await host.traces()).toEqual([])
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(host.options.stateDir)
  })
})
