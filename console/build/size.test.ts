import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'

/** Maximum sizes in KB, compressed with Brotli, and maximum numbers of requests. The tests read the output of `npm run build`. */
const limits = {
  chunk: 100,
  signIn: 130,
  signInRequests: 8,
  frame: 130,
  page: 30,
  list: 150,
  listRequests: 14,
  graphiql: 300,
}
/**
 * Chunks of GraphiQL and its editor. They have their own limit, and only the playground may load them (docs/decisions/0012).
 */
const graphiqlFiles = /GraphiqlEditor|monaco|worker|mouseTarget|babel|estree|standalone|jsonMode/

const dist = join(import.meta.dirname, '../dist')
const manifestFile = join(dist, '.vite/manifest.json')
type Chunk = { file: string; imports?: string[]; css?: string[]; isDynamicEntry?: boolean }

describe.runIf(existsSync(manifestFile))('the size of the build', () => {
  const manifest = existsSync(manifestFile)
    ? (JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, Chunk>)
    : {}

  /** All files that a browser fetches for these chunks, including transitive imports. */
  function withImports(...keys: string[]): Set<string> {
    const files = new Set<string>()
    const visit = (key: string) => {
      const chunk = manifest[key]
      if (!chunk || files.has(chunk.file)) return
      files.add(chunk.file)
      for (const style of chunk.css ?? []) files.add(style)
      for (const next of chunk.imports ?? []) visit(next)
    }
    for (const key of keys) visit(key)
    return files
  }
  const chunkKey = (name: string) => {
    const key = Object.keys(manifest).find(
      (candidate) => candidate.startsWith(`_${name}-`) && candidate.endsWith('.js'),
    )
    // Vitest also runs this body without a build, to collect the tests that it then skips.
    if (!key && existsSync(manifestFile)) throw new Error(`The build has no chunk ${name}; see vite.config.ts`)
    return key ?? name
  }
  const sizeKb = (file: string) => brotliCompressSync(readFileSync(join(dist, file))).length / 1024
  const sumKb = (files: Iterable<string>) => [...files].reduce((sum, file) => sum + sizeKb(file), 0)

  const scripts = Object.values(manifest)
    .map(({ file }) => file)
    .filter((file) => file.endsWith('.js') && !graphiqlFiles.test(file))
  const pages = Object.entries(manifest).filter(
    ([key, { isDynamicEntry }]) => isDynamicEntry && key.startsWith('src/pages/') && !graphiqlFiles.test(key),
  )
  const signIn = withImports(chunkKey('app'), chunkKey('forms'))
  const frame = withImports(chunkKey('app'), chunkKey('layout'))

  test.each(scripts)('%s is within the limit for one file', (file) =>
    expect(sizeKb(file)).toBeLessThanOrEqual(limits.chunk),
  )

  test('the sign-in page is within its limits of size and requests', () => {
    expect(sumKb(signIn)).toBeLessThanOrEqual(limits.signIn)
    // The three other requests: index.html, its font and the sign-in options.
    expect(signIn.size + 3).toBeLessThanOrEqual(limits.signInRequests)
  })

  test('the frame of the app is within its limit', () => expect(sumKb(frame)).toBeLessThanOrEqual(limits.frame))

  test('the list of squids is within its limits of size and requests', () => {
    const list = withImports('src/pages/squids/SquidsPage.tsx').union(frame)
    expect(sumKb(list)).toBeLessThanOrEqual(limits.list)
    // The seven other requests: index.html, its two fonts, the session, the versions, their request counts and the running deployments.
    expect(list.size + 7).toBeLessThanOrEqual(limits.listRequests)
  })

  test.each(pages.map(([key]) => key))('%s adds at most the limit of a page to the frame', (key) =>
    expect(sumKb(withImports(key).difference(frame))).toBeLessThanOrEqual(limits.page),
  )

  test('the playground loads GraphiQL separately, within its own limit', () =>
    expect(sumKb(withImports('src/pages/playground/GraphiqlEditor.tsx').difference(frame))).toBeLessThanOrEqual(
      limits.graphiql,
    ))

  test('no page loads rarely needed code initially', () => {
    const rarelyNeeded = /sentry|schemas|Altcha|Turnstile|Plot|driver|highlight(?!ed)|stripe|graphiql|monaco/i
    const ordinaryPages = pages.map(([key]) => key).filter((key) => !rarelyNeeded.test(key))
    const initialFiles = [...signIn, ...frame, ...ordinaryPages.flatMap((key) => [...withImports(key)])]
    expect(initialFiles.filter((file) => rarelyNeeded.test(file))).toEqual([])
  })
})
