import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { CannotBuild, goBuild, missingGo } from './go.ts'

const missing = await missingGo()

/** Creates a Go module, until the end of the test. `needs`: a module that it imports. */
function moduleOf(source: string, needs = ''): string {
  const folder = mkdtempSync(join(tmpdir(), 'go-module-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'modules'))
  writeFileSync(join(folder, 'go.mod'), `module example.com/one\n\ngo 1.21\n${needs && `\nrequire ${needs} v1.0.0\n`}`)
  writeFileSync(join(folder, 'main.go'), source)
  vi.stubEnv('GOFLAGS', '-mod=mod')
  vi.stubEnv('GOMODCACHE', join(folder, 'modules'))
  // A port on which nothing listens.
  vi.stubEnv('GOPROXY', 'http://127.0.0.1:1')
  return folder
}

const build = (folder: string) =>
  goBuild({ folder, program: '.', output: join(folder, 'one') }).then(
    () => null,
    (error: unknown) => error as Error,
  )

describe.skipIf(missing)('a build with Go', () => {
  afterEach(() => vi.unstubAllEnvs())

  test('that cannot download its modules fails with one sentence about that', async () => {
    const folder = moduleOf('package main\n\nimport _ "example.com/two"\n\nfunc main() {}\n', 'example.com/two')
    const error = await build(folder)
    expect(error).toBeInstanceOf(CannotBuild)
    expect(error?.message).toBe('The Go modules cannot be downloaded')
  })

  test('needs the version of Go that the module names', async () => {
    const folder = moduleOf('package main\n\nfunc main() {}\n')
    expect(await missingGo(folder)).toBeNull()
    writeFileSync(join(folder, 'go.mod'), 'module example.com/one\n\ngo 1.999\n')
    expect(await missingGo(folder)).toMatch(/^Go 1\.\d+ is installed, but 1\.999 is needed$/)
  })

  test('of an invalid program fails with the output of the compiler', async () => {
    const error = await build(moduleOf('package main\n\nfunc main() { wrong }\n'))
    expect(error).not.toBeInstanceOf(CannotBuild)
    expect(error?.message).toContain('undefined: wrong')
  })
})
