import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { create } from 'tar'
import { expect, test } from 'vitest'
import type { BuildRequest } from '../builder.ts'
import { type SimBuild, createSimBuilder } from './sim-builder.ts'

const limits = { totalBytes: 1e6, files: 100, ratio: 100 }

function archiveOf(sim: unknown) {
  return () => {
    const dir = mkdtempSync(join(tmpdir(), 'shoal-sim-test-'))
    writeFileSync(join(dir, 'squid.yaml'), 'manifestVersion: subsquid.io/v0.1\nname: one\n')
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ name: 'one', sim }))
    const output = new PassThrough()
    create({ cwd: dir, gzip: true, portable: true }, ['.'])
      .on('end', () => rmSync(dir, { recursive: true }))
      .pipe(output)
    return output
  }
}

const request = (lines: string[], signal = new AbortController().signal): BuildRequest => ({
  key: 'tree',
  tenant: 'org',
  nodeVersion: '20',
  packageManager: 'auto',
  installCommand: null,
  buildCommand: null,
  limits: { memoryBytes: 1e9, cpuCores: 1, timeMs: 1000, diskBytes: 0 },
  log: (_, message) => lines.push(message),
  signal,
})

test('building the same content again reuses the image', async () => {
  const builder = createSimBuilder()
  const lines: string[] = []
  const unpacked = await builder.unpack({
    key: 'tree',
    archive: archiveOf({ prints: ['hello'] } satisfies SimBuild),
    manifestPath: '',
    limits,
  })
  expect(unpacked).toMatchObject({ manifestPath: 'squid.yaml', packageJson: { name: 'one' }, files: 2 })
  const first = await builder.build(request(lines))
  expect(await builder.build(request(lines))).toEqual({ ...first, reused: true })
  expect(lines.filter((line) => line === 'hello')).toHaveLength(1)
  expect(builder.hasImage(first.image)).toBe(true)
  await builder.removeImage(first.image)
  expect(builder.hasImage(first.image)).toBe(false)
})

test('a build fails as configured in its package.json', async () => {
  const builder = createSimBuilder()
  const fails = { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'tsc found 3 errors' } as const
  await builder.unpack({ key: 'tree', archive: archiveOf({ fails }), manifestPath: '', limits })
  await expect(builder.build(request([]))).rejects.toMatchObject(fails)
})

test.each([
  [{ fails: { kind: 'BUILD_FAILED', message: 'no' } }, 'sim.fails.kind must be UNEXPECTED or REQUIREMENTS or'],
  [{ failed: true }, 'sim has an unknown property failed; known: takesMs, whileExists, prints, fails'],
])('an invalid simulated build fails: %j', async (sim, expected) => {
  const builder = createSimBuilder()
  await builder.unpack({ key: 'tree', archive: archiveOf(sim), manifestPath: '', limits })
  const message = expect.stringContaining(expected)
  await expect(builder.build(request([]))).rejects.toMatchObject({ kind: 'REQUIRED_SOURCE_FILE_INVALID', message })
})

test('a build ends only when a file no longer exists', async () => {
  const builder = createSimBuilder()
  const whileExists = mkdtempSync(join(tmpdir(), 'shoal-sim-test-'))
  await builder.unpack({ key: 'tree', archive: archiveOf({ whileExists }), manifestPath: '', limits })
  const controller = new AbortController()
  const cancelled = builder.build(request([], controller.signal))
  controller.abort()
  await expect(cancelled).rejects.toThrow('aborted')
  let isBuilt = false
  const build = builder.build(request([])).then((image) => {
    isBuilt = true
    return image
  })
  await pause(150)
  expect(isBuilt).toBe(false)
  rmSync(whileExists, { recursive: true })
  expect(await build).toMatchObject({ reused: false })
})

test('a build can be cancelled', async () => {
  const builder = createSimBuilder()
  await builder.unpack({ key: 'tree', archive: archiveOf({ takesMs: 60_000 }), manifestPath: '', limits })
  const controller = new AbortController()
  const build = builder.build(request([], controller.signal))
  controller.abort()
  await expect(build).rejects.toThrow('aborted')
})
