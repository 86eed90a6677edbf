import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createProductionTree } from './dependencies.ts'
import type { BuildRun } from './build-step.ts'
import type { WorkDirs } from './build-work.ts'

test('a build script that replaces the package.json of the production tree with a link cannot make the server write to the target', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-dependencies-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const source = join(dir, 'source')
  const victim = join(dir, 'victim')
  mkdirSync(source)
  writeFileSync(join(source, 'package.json'), '{"devDependencies":{"wrappy":"1.0.2"}}')
  writeFileSync(victim, '{"of":"the server"}')
  let replaced = 0
  const run = {
    manager: { kind: 'yarn-berry', name: 'yarn', lockfile: null },
    uid: null,
    // Ends before the package manager starts.
    signal: AbortSignal.abort(),
    trees: {
      // The build script runs while dependencies are copied.
      clone: async () => {
        rmSync(join(dir, 'production/package.json'))
        symlinkSync(victim, join(dir, 'production/package.json'))
        replaced++
      },
    },
  } as unknown as BuildRun
  const dirs = { dir, source, downloads: join(dir, 'downloads') } as WorkDirs
  await expect(createProductionTree(run, dirs, join(dir, 'full'), join(dir, 'result'))).rejects.toThrow('aborted')
  expect(replaced).toBe(1)
  expect(readFileSync(victim, 'utf8')).toBe('{"of":"the server"}')
})
