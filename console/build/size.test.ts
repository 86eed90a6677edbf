import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'

/** Maximum sizes of a build in KB of brotli (frontend.md 3). Tests the output of `npm run build`. */
const bars = { chunk: 100, signIn: 130, signInRequests: 8, frame: 130, page: 30, graphiql: 300 }
/**
 * Chunks of GraphiQL and its editor: exempt from the limits, and allowed in the playground only
 * (docs/decisions/0012).
 */
const ofGraphiql = /GraphiqlEditor|monaco|worker|mouseTarget|babel|estree|standalone|jsonMode/

const dist = join(import.meta.dirname, '../dist')
const manifestFile = join(dist, '.vite/manifest.json')
type Chunk = { file: string; imports?: string[]; css?: string[]; isDynamicEntry?: boolean }

describe.runIf(existsSync(manifestFile))('the size of the build', () => {
  const manifest = existsSync(manifestFile)
    ? (JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, Chunk>)
    : {}

  /** All files that a browser fetches with these entries, including transitive imports. */
  function withImports(...keys: string[]): Set<string> {
    const found = new Set<string>()
    const visit = (key: string) => {
      const chunk = manifest[key]
      if (!chunk || found.has(chunk.file)) return
      found.add(chunk.file)
      for (const style of chunk.css ?? []) found.add(style)
      for (const next of chunk.imports ?? []) visit(next)
    }
    for (const key of keys) visit(key)
    return found
  }
  const named = (name: string) => {
    const key = Object.keys(manifest).find(
      (candidate) => candidate.startsWith(`_${name}-`) && candidate.endsWith('.js'),
    )
    // Without a build this body still runs, to collect the tests that are then skipped.
    if (!key && existsSync(manifestFile)) throw new Error(`The build has no chunk ${name}; see vite.config.ts`)
    return key ?? name
  }
  const sizeKb = (file: string) => brotliCompressSync(readFileSync(join(dist, file))).length / 1024
  const sumKb = (files: Iterable<string>) => [...files].reduce((sum, file) => sum + sizeKb(file), 0)

  const scripts = Object.values(manifest)
    .map(({ file }) => file)
    .filter((file) => file.endsWith('.js') && !ofGraphiql.test(file))
  const pages = Object.entries(manifest).filter(
    ([key, { isDynamicEntry }]) => isDynamicEntry && key.startsWith('src/pages/') && !ofGraphiql.test(key),
  )
  const signIn = withImports(named('app'), named('forms'))
  const frame = withImports(named('app'), named('layout'))

  test.each(scripts)('%s is not too large for one file', (file) => expect(sizeKb(file)).toBeLessThanOrEqual(bars.chunk))

  test('signing in', () => {
    expect(sumKb(signIn)).toBeLessThanOrEqual(bars.signIn)
    // Plus index.html, its font and the request for the sign-in options.
    expect(signIn.size + 3).toBeLessThanOrEqual(bars.signInRequests)
  })

  test('the frame of the app', () => expect(sumKb(frame)).toBeLessThanOrEqual(bars.frame))

  test.each(pages.map(([key]) => key))('%s on top of the frame', (key) =>
    expect(sumKb(withImports(key).difference(frame))).toBeLessThanOrEqual(bars.page),
  )

  test('the playground shows its frame before GraphiQL, which stays within what it was', () =>
    expect(sumKb(withImports('src/pages/playground/GraphiqlEditor.tsx').difference(frame))).toBeLessThanOrEqual(
      bars.graphiql,
    ))

  test('rarely needed code is not part of a page', () => {
    const rare = /sentry|schemas|Altcha|Turnstile|Plot|driver|highlight|stripe|graphiql|monaco/i
    const usual = pages.map(([key]) => key).filter((key) => !rare.test(key))
    const always = [...signIn, ...frame, ...usual.flatMap((key) => [...withImports(key)])]
    expect(always.filter((file) => rare.test(file))).toEqual([])
  })
})
