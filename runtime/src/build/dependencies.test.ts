import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { cloneTree } from './clone-tree.ts'
import { createProductionTree } from './dependencies.ts'
import type { BuildRun } from './build-step.ts'
import type { WorkDirs } from './build-work.ts'

const uid = 65_534

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-dependencies-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
})

// A build script runs at the same time, as the same user, and could replace its folders and files with links.
describe.runIf(process.getuid?.() === 0)('while the server fills a folder for a build', () => {
  test('the folder of the production tree belongs to the server', async () => {
    const source = join(dir, 'source')
    const workDir = join(dir, 'production')
    mkdirSync(source)
    writeFileSync(join(source, 'package.json'), '{"name":"a","devDependencies":{"wrappy":"1.0.2"}}')
    const owners: number[] = []
    const run = {
      manager: { kind: 'yarn-berry', name: 'yarn', lockfile: null },
      uid,
      // Ends before the package manager starts.
      signal: AbortSignal.abort(),
      trees: { clone: async () => void owners.push(statSync(workDir).uid) },
    } as unknown as BuildRun
    const dirs = { dir, source, downloads: join(dir, 'downloads') } as WorkDirs
    await expect(createProductionTree(run, dirs, join(dir, 'full'), join(dir, 'result'))).rejects.toThrow('aborted')
    expect(owners).toEqual([0])
    expect(statSync(workDir).uid).toBe(uid)
    expect(JSON.parse(readFileSync(join(workDir, 'package.json'), 'utf8'))).toEqual({ name: 'a', devDependencies: {} })
  })

  test('the folders of a clone belong to the server', async () => {
    const from = join(dir, 'from')
    mkdirSync(join(from, 'package'), { recursive: true })
    // A socket cannot be copied, so the clone ends early.
    const server = createServer()
    await new Promise<void>((done) => server.listen(join(from, 'package/socket'), done))
    onTestFinished(() => void server.close())
    const to = join(dir, 'to')
    expect(() => cloneTree(from, to, { uid, hardLinks: 'none' })).toThrow()
    expect([statSync(to).uid, statSync(join(to, 'package')).uid]).toEqual([0, 0])
    rmSync(join(from, 'package/socket'))
    rmSync(to, { recursive: true })
    cloneTree(from, to, { uid, hardLinks: 'none' })
    expect([statSync(to).uid, statSync(join(to, 'package')).uid]).toEqual([uid, uid])
  })
})
