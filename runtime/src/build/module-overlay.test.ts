import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BuildLog } from './build-log.ts'
import type { BuildRun } from './build-step.ts'
import { mountModules } from './module-overlay.ts'

/** Mounts modules with `program` in place of the command that enters the disk of a build. Returns the build's log. */
async function mountWith(program: string): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-overlay-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const [app, sealed, command] = ['app', 'sealed', 'command'].map((name) => join(dir, name)) as [string, string, string]
  for (const folder of [app, sealed]) mkdirSync(folder)
  writeFileSync(command, `#!/bin/sh\n${program}\n`, { mode: 0o755 })
  const log: string[] = []
  const run = {
    host: { workFolders: 'overlay' } as BuildRun['host'],
    disk: { kind: 'image', commandPrefix: [command], inNamespace: (path: string) => path } as BuildRun['disk'],
    trees: {} as BuildRun['trees'],
    uid: 1000,
    log: new BuildLog((severity, message) => log.push(`${severity}: ${message}`)),
  }
  const dirs = { dir, results: dir, app, downloads: dir, source: dir }
  expect(await mountModules(run, dirs, sealed)).toBeNull()
  expect(existsSync(join(app, 'node_modules'))).toBe(false)
  return log
}

test.each([
  ['echo "mount: /var/lib/shoal/app: wrong fs type, bad option." >&2; exit 32', 'wrong fs type, bad option.'],
  ['echo "mount: mounting shoal-modules on /var/lib/shoal/app failed" >&2; exit 1', /shoal-modules on … failed$/],
  ['exit 1', 'mount failed'],
])(
  'a failure to mount cached dependencies is in the log of the build, without paths of the host: %s',
  async (program, reason) => {
    const [line, ...others] = await mountWith(program)
    expect(others).toEqual([])
    expect(line).toMatch(/^warn: The cached dependencies are copied, because they could not be mounted: /)
    expect(line).toMatch(reason)
    expect(line).not.toContain('/var/lib')
  },
)
