import { expect, test } from 'vitest'
import { FileLister } from './file-list.ts'

function add(lister: FileLister, path: string, content: string | Buffer): void {
  const bytes = Buffer.from(content)
  const file = lister.open(path, bytes.length)
  file?.add(bytes.subarray(0, 3))
  file?.add(bytes.subarray(3))
  file?.close()
}

test('the texts of sources are kept, but not those of binaries, long files, lockfiles, compiled code or files with secrets', () => {
  const lister = new FileLister()
  const contents: [string, string | Buffer][] = [
    ['squid.yaml', 'name: x'],
    ['src/main.ts', 'main()'],
    ['README.md', '# x'],
    ['src/binary.ts', Buffer.from([0, 1, 2])],
    ['src/latin1.ts', Buffer.from([0x61, 0xe4, 0x62])],
    ['src/long.ts', 'x'.repeat(70_000)],
    ['package-lock.json', '{}'],
    ['lib/main.js', 'main()'],
    ['.env.local', 'A=1'],
    ['config/secrets.json', '{}'],
    ['logo.png', 'text in an image file'],
  ]
  for (const [path, content] of contents) add(lister, path, content)
  const { files, isComplete } = lister.list
  expect(isComplete).toBe(true)
  expect(files.map(({ path }) => path)).toEqual(contents.map(([path]) => path))
  expect(files.filter(({ text }) => text !== null).map(({ path, text }) => [path, text])).toEqual([
    ['squid.yaml', 'name: x'],
    ['src/main.ts', 'main()'],
    ['README.md', '# x'],
  ])
  expect(new Set(files.map(({ sha256 }) => sha256)).size).toBe(files.length - 2)
})

test('the list of a huge archive is limited', () => {
  const lister = new FileLister()
  for (let n = 0; n < 5000; n++) add(lister, `src/${n}.ts`, `x`.repeat(10_000))
  for (let n = 0; n < 100; n++) add(lister, `${'deep/'.repeat(800)}${n}`, 'x')
  const { files, isComplete } = lister.list
  expect([files.length, isComplete]).toEqual([2000, false])
  const texts = files.reduce((sum, { text }) => sum + (text?.length ?? 0), 0)
  expect(texts).toBeGreaterThan(700_000)
  expect(texts).toBeLessThanOrEqual(768 * 1024)

  const longPaths = new FileLister()
  for (let n = 0; n < 1000; n++) add(longPaths, `${'deep/'.repeat(800)}${n}`, 'x')
  expect(longPaths.list.files.length).toBeLessThan(60)
})
