import fc from 'fast-check'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { normalizedPath, rejectionReason, resolveLink } from './archive-rules.ts'

const file = (path: string) => rejectionReason({ path, type: 'File' })
const link = (path: string, linkpath: string) => rejectionReason({ path, type: 'SymbolicLink', linkpath })

describe('archive entries', () => {
  test.each(['./', '.'])('the root %s must be a folder', (path) => {
    expect(rejectionReason({ path, type: 'Directory' })).toBeNull()
    expect(rejectionReason({ path, type: 'SymbolicLink', linkpath: 'x' })).toContain('root')
  })

  test.each(['./src/main.ts', 'src/main.ts', 'a/b/', 'src/..hidden', 'ünïcode/файл', 'a b/c:d'])(
    'the path %s is allowed',
    (path) => {
      expect(file(path)).toBeNull()
    },
  )

  test.each([
    ['/etc/passwd', 'absolute'],
    ['C:/Windows/x', 'absolute'],
    ['C:\\Windows\\x', 'absolute'],
    ['../x', 'outside'],
    ['a/../../x', 'outside'],
    ['a/..', 'outside'],
    ['a\\..\\..\\x', 'backslash'],
    ['a\nb', 'control'],
    ['a\u0000b', 'control'],
    ['a\u0085b', 'control'],
    ['a\u2028b', 'control'],
    ['a\u202eb', 'reverses text'],
    ['\u200fa', 'reverses text'],
    ['bad\ufffdname', 'UTF-8'],
    ['x'.repeat(256), '255'],
    [`${'x'.repeat(200)}/`.repeat(6), '1024'],
    ['a/'.repeat(70), 'deep'],
  ])('the path %j is rejected', (path, reason) => {
    expect(file(path)).toContain(reason)
  })

  test.each(['CharacterDevice', 'BlockDevice', 'FIFO', 'SparseFile', 'Unsupported'])(
    'the type %s is rejected',
    (type) => {
      expect(rejectionReason({ path: 'x', type })).toContain('only files, folders and links')
    },
  )

  test('links within the tree are allowed', () => {
    expect(link('a/b', '../c')).toBeNull()
    expect(link('a', 'b')).toBeNull()
    expect(rejectionReason({ path: 'a/b', type: 'Link', linkpath: 'c/d' })).toBeNull()
  })

  test.each([
    ['a', '/etc/passwd'],
    ['a', '..'],
    ['a/b', '../../c'],
    ['a/b', 'x/../../../c'],
  ])('the link %s to %s is rejected', (path, target) => {
    expect(link(path, target)).toContain('outside of the squid’s folder')
  })

  test('targets of hard links are relative to the root', () => {
    expect(rejectionReason({ path: 'a/b/c', type: 'Link', linkpath: '../x' })).toContain('outside')
  })

  test('a lockfile that links to the root of a monorepo is rejected with advice', () => {
    expect(link('package-lock.json', '../../package-lock.json')).toContain('Put the lockfile itself')
  })
})

describe('properties', () => {
  const part = fc.constantFrom('..', '.', '', 'a', 'b', 'c', 'a..', '...')
  const path = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/'))

  test('an accepted path stays in the tree', () => {
    fc.assert(
      fc.property(path, (requested) => {
        fc.pre(file(requested) === null && normalizedPath(requested) !== '')
        expect(join('/tree', requested).startsWith('/tree/')).toBe(true)
        expect(join('/tree', requested).replace(/\/$/, '')).toBe(`/tree/${normalizedPath(requested)}`)
      }),
    )
  })

  test('resolveLink agrees with the kernel, and never returns a path outside of the tree', () => {
    const targets = fc.dictionary(fc.constantFrom('l1', 'l2', 'a/l3', 'a/b/l4'), path, { noNullPrototype: true })
    fc.assert(
      fc.property(targets, path, (links, requested) => {
        const dir = realpathSync(mkdtempSync(join(tmpdir(), 'shoal-links-')))
        try {
          // The tree is so deep that no generated path leaves `dir`.
          const root = join(dir, '1/2/3/4/5/6/7/8/9/tree')
          mkdirSync(join(root, 'a/b/c'), { recursive: true })
          writeFileSync(join(root, 'c'), '')
          for (const [name, target] of Object.entries(links)) {
            symlinkSync(target === '' ? '.' : target, join(root, name))
          }
          const linkTargets = new Map(
            Object.entries(links).map(([name, target]) => [name, target === '' ? '.' : target]),
          )
          const resolved = resolveLink(linkTargets, requested)
          const real = resolveByKernel(root, requested)
          const isOutside = real !== null && real !== root && !real.startsWith(`${root}/`)
          const isCorrect = resolved === null || real === null || join(root, resolved) === real
          expect({ isCorrect, isEscaping: isOutside && resolved !== null }).toEqual({
            isCorrect: true,
            isEscaping: false,
          })
        } finally {
          rmSync(dir, { recursive: true })
        }
      }),
      { numRuns: 150 },
    )
  })

  /** Returns null for missing paths and link cycles. Concatenates, since `join` would normalize `link/..`. */
  function resolveByKernel(root: string, requested: string): string | null {
    try {
      return realpathSync.native(`${root}/${requested}`)
    } catch {
      return null
    }
  }
})
