import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { ContainerSpec } from '../driver.ts'
import { describeKinds } from './host-harness.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'
import { until } from '../until.ts'
import { prepareWorkFolder } from './work-folder.ts'

/** Performs the operations in OPERATIONS and prints their results. */
const PROGRAM = `
const fs = require('node:fs')
const operations = JSON.parse(process.env.OPERATIONS)
for (const [method, path, text] of operations) {
  const file = path.replace('PROGRAM_DIR', __dirname)
  try {
    fs[method](file, text === 'recursive' ? { recursive: true } : (text ?? 'utf8'))
    console.log(JSON.stringify([method, path, 'done']))
  } catch (error) {
    console.log(JSON.stringify([method, path, error.code]))
  }
}
console.log('done')
setInterval(() => {}, 60_000)
`

const FILES = { 'package.json': '{"name":"squid"}', 'assets/abi.json': '[]', 'node_modules/a/index.js': '' }

const KINDS = [
  { sandbox: 'auto', workFolders: 'auto' },
  { sandbox: 'none', workFolders: 'auto' },
  { sandbox: 'auto', workFolders: 'links' },
  { sandbox: 'none', workFolders: 'links' },
] as const

type Operation = [method: string, path: string, text?: string]

describeKinds(KINDS, (kind) => {
  let harness: ProcessHarness

  beforeEach(async () => {
    harness = await openProcessHarness(kind)
    makeImage(harness.options.imagesDir, 'squid', PROGRAM, { files: FILES })
  })

  afterEach(() => harness.dispose())

  const runOperations = async (
    name: string,
    operations: Operation[],
    command = ['node', 'main.cjs'],
  ): Promise<Record<string, string>> => {
    const processor: ContainerSpec = {
      name: 'processor',
      command,
      env: { OPERATIONS: JSON.stringify(operations) },
      resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
      restart: 'on-failure',
      ports: [],
      stopGraceMs: 5000,
    }
    await harness.runtime.apply({ id: name, tenant: 'org', version: name, image: 'squid', containers: [processor] })
    const lines = await until(async () => {
      const output = await harness.runtime.tail(name, 'processor', 50)
      expect(output.at(-1)).toBe('done')
      return output.slice(0, -1)
    })
    return Object.fromEntries(
      lines.map((line) => {
        const [method, path, result]: [string, string, string] = JSON.parse(line)
        return [`${method} ${path}`, result]
      }),
    )
  }

  const appDir = () => join(harness.options.imagesDir, 'squid/app')

  test('a program can write to its work folder, including folders from the image, without changing the image', async () => {
    const results = await runOperations('one', [
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
    if (harness.host.sandbox === 'bwrap' || harness.host.uidOf('x') !== null) expect(shared).not.toBe('done')
    expect(new Set(Object.values(others))).toEqual(new Set(['done']))
    expect(readdirSync(appDir()).sort()).toEqual(['assets', 'main.cjs', 'node_modules', 'package.json'])
    expect(readdirSync(join(appDir(), 'assets'))).toEqual(['abi.json'])
    expect(readFileSync(join(appDir(), 'assets/abi.json'), 'utf8')).toBe('[]')
  })

  test('with overlays, a program can also write next to its own file', async ({ skip }) => {
    if (harness.host.workFolders !== 'overlay') skip('without overlays, the program’s own file is in the image')
    expect(await runOperations('one', [['writeFileSync', 'PROGRAM_DIR/new.csv', 'a']])).toEqual({
      'writeFileSync PROGRAM_DIR/new.csv': 'done',
    })
    expect(existsSync(join(appDir(), 'new.csv'))).toBe(false)
  })

  test('files that a program wrote survive a restart, are private to its container, and are deleted with it', async () => {
    const operations: Operation[] = [
      ['readFileSync', 'kept'],
      ['writeFileSync', 'kept', 'a'],
    ]
    expect(await runOperations('one', operations)).toMatchObject({ 'readFileSync kept': 'ENOENT' })
    expect(await runOperations('two', operations)).toMatchObject({ 'readFileSync kept': 'ENOENT' })
    await harness.runtime.close('stop')
    await harness.restart()
    await until(async () =>
      expect((await harness.runtime.tail('one', 'processor', 50)).filter((line) => line.includes('readFile'))).toEqual([
        '["readFileSync","kept","ENOENT"]',
        '["readFileSync","kept","done"]',
      ]),
    )
    await harness.runtime.remove('one')
    expect(await runOperations('one', operations)).toMatchObject({ 'readFileSync kept': 'ENOENT' })
    await harness.runtime.remove('one')
    await harness.runtime.remove('two')
    expect(await harness.leftovers()).toEqual([])
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(harness.options.stateDir)
  })
})

test.runIf(process.getuid?.() === 0)('while the server fills a work folder, its folders belong to the server', () => {
  const uid = 65_534
  const dir = mkdtempSync(join(tmpdir(), 'shoal-work-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const [image, workFolder] = [join(dir, 'image'), join(dir, 'work-folder')]
  mkdirSync(join(image, 'assets'), { recursive: true })
  // The longest possible path of the image is too long for the work folder, so that filling it fails.
  let path = join(image, 'too-long')
  for (; path.length < 4_090; path = join(path, 'x'.repeat(Math.min(200, 4_093 - path.length)))) mkdirSync(path)
  mkdirSync(path)
  const prepare = () => prepareWorkFolder('links', image, workFolder, { uid, diskPrefix: [] })
  expect(prepare).toThrow('ENAMETOOLONG')
  const owners = () => readdirSync(workFolder).map((name) => statSync(join(workFolder, name)).uid)
  expect(owners()).toEqual([0])
  rmSync(join(image, 'too-long'), { recursive: true })
  expect(readdirSync(prepare().cwd)).toEqual(['assets'])
  expect(owners()).toEqual([uid])
})
