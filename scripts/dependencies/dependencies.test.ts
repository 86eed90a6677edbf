import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../root.ts'
import { cycloneDx } from './cyclonedx.ts'
import { isCompatible, licenseFiles } from './licenses.ts'
import { productionPackages, type Lockfile } from './production-packages.ts'

const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lockfile
const packages = productionPackages(lockfile)
const names = new Set(packages.map(({ name }) => name))

test('the production packages include the dependencies of the server and the console, and no packages of tests', () => {
  for (const workspace of ['contract', 'runtime', 'server', 'console']) {
    const { dependencies, devDependencies } = lockfile.packages[workspace] ?? {}
    expect(Object.keys(dependencies ?? {}).filter((name) => !names.has(name))).toEqual([])
    for (const name of ['drizzle-kit', 'smtp-server'].filter((name) => devDependencies?.[name]))
      expect(names).not.toContain(name)
  }
  // `npm sbom --omit dev` omits the first two.
  expect(['zod', 'vite', 'node', 'light-my-request'].filter((name) => !names.has(name))).toEqual([])
  expect(['vitest', 'playwright-core', 'oxlint', '@shoal/e2e'].filter((name) => names.has(name))).toEqual([])
})

test('a lockfile without a required package is rejected', () => {
  const broken = { packages: { '': { workspaces: ['server'] }, server: { dependencies: { missing: '1.0.0' } } } }
  expect(() => productionPackages(broken)).toThrow('package-lock.json has no missing, which server requires')
})

test('a package is found in the nearest node_modules folder', () => {
  const nested: Lockfile = {
    packages: {
      '': { workspaces: ['server'] },
      server: { dependencies: { a: '1', b: '1' } },
      'server/node_modules/b': { version: '1.0.0' },
      'node_modules/a': { version: '1.0.0', dependencies: { b: '2' } },
      'node_modules/b': { version: '2.0.0' },
    },
  }
  const usesOf = Object.fromEntries(productionPackages(nested).map(({ path, uses }) => [path, uses]))
  expect(usesOf['server']).toEqual(['node_modules/a', 'server/node_modules/b'])
  expect(usesOf['node_modules/a']).toEqual(['node_modules/b'])
})

test('the license of every production package is compatible with that of Shoal', () => {
  expect(packages.filter((pkg) => !isCompatible(pkg)).map(({ name, license }) => `${name}: ${license}`)).toEqual([])
})

test.each([
  ['MIT', true],
  ['(MIT OR GPL-2.0-only)', true],
  ['GPL-2.0-only', false],
  ['MIT AND GPL-2.0-only', false],
  ['SSPL-1.0', false],
  ['SEE LICENSE IN LICENSE.md', false],
  ['OFL-1.1', false],
  [null, false],
])('a library under %s is compatible: %s', (license, expected) =>
  expect(isCompatible({ name: 'a-library', license })).toBe(expected),
)

test('each package that declares no license contains a file with the text of the expected license', () => {
  for (const [name, { starts }] of Object.entries(licenseFiles)) {
    expect(packages.find((pkg) => pkg.name === name)).toMatchObject({ license: null })
    const file = join(root, 'node_modules', name, 'LICENSE')
    expect(existsSync(file) && readFileSync(file, 'utf8')).toMatch(starts)
  }
})

test('the bill of materials has every package with its hash, and is the same each time', () => {
  const text = cycloneDx(packages, '0.1.0')
  expect(cycloneDx(productionPackages(structuredClone(lockfile)), '0.1.0')).toBe(text)
  type Component = { 'bom-ref': string; purl: string; hashes?: { alg: string; content: string }[] }
  const bom = JSON.parse(text) as { components: Component[]; dependencies: { ref: string; dependsOn: string[] }[] }
  const refs = bom.components.map((component) => component['bom-ref'])
  expect(new Set(refs).size).toBe(refs.length)
  expect(refs).toEqual(expect.arrayContaining(['pkg:npm/zod@4.6.7', 'pkg:npm/%40fastify/helmet@13.2.0']))
  for (const { purl, hashes } of bom.components)
    if (!purl.includes('%40shoal/'))
      expect([purl, hashes?.[0]?.content]).toEqual([purl, expect.stringMatching(/^[\da-f]{128}$/)])
  const known = new Set([...refs, 'pkg:npm/shoal@0.1.0'])
  expect(
    bom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]).filter((ref) => !known.has(ref)),
  ).toEqual([])
})
