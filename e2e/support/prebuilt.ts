import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The parts of the example squid that a test reuses. `npm test` builds them once for all tests. */
export type Prebuilt = 'nothing' | 'dependencies' | 'dependencies and code'

/** Undefined if vitest runs without `npm test`. If the squid could not be built, which `npm test` reports, the folder does not exist. */
const buildFolder = process.env['SHOAL_TEST_SQUID']
const folder = buildFolder && existsSync(buildFolder) ? buildFolder : null

/**
 * Adds the installed dependencies of the example squid to the organization's build cache, as if the server had already built the
 * squid. Hard links are safe, because builds cannot modify cached files. Without `npm test`, the server installs the dependencies.
 */
export function addDependenciesToCache(dataDir: string, orgId: number): void {
  if (!folder) return
  const tenant = createHash('sha256').update(String(orgId)).digest('hex').slice(0, 32)
  const cache = join(dataDir, 'builds/cache', tenant)
  if (existsSync(join(cache, 'deps'))) return
  mkdirSync(cache, { mode: 0o711 })
  chmodSync(cache, 0o711)
  execFileSync('cp', ['-al', join(folder, 'dependencies'), join(cache, 'deps')])
}

/** Adds the compiled code to the project and makes its build script trivial, so that a build takes a second. */
export function useCompiledCode(project: string): void {
  if (!folder) return
  cpSync(join(folder, 'lib'), join(project, 'lib'), { recursive: true })
  const file = join(project, 'package.json')
  const { scripts, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as { scripts: Record<string, string> }
  writeFileSync(file, JSON.stringify({ ...rest, scripts: { ...scripts, build: 'node --version' } }))
  // Without this file, the public client would not upload `lib`.
  writeFileSync(join(project, '.squidignore'), 'builds\n')
}
