import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCommand } from './command.ts'

let dir: string
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'shoal-user-cache-'))))
afterEach(() => rmSync(dir, { recursive: true }))

const folderCount = 100

/** The source of a process that fills many folders. It waits for the other process before it completes a folder and before it begins the next one. */
const fillProgram = `
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fillOnce } from ${JSON.stringify(new URL('./user-cache.ts', import.meta.url).href)}
const [dir, own, other] = process.argv.slice(1)
const meet = (place) => {
  writeFileSync(join(dir, 'met', own + place), '')
  while (!existsSync(join(dir, 'met', other + place)));
}
mkdirSync(join(dir, 'met'), { recursive: true })
for (let i = 0; i < ${folderCount}; i++) {
  const fill = async (unfinished) => {
    writeFileSync(join(unfinished, own), '')
    meet('-filled-' + i)
    return true
  }
  await fillOnce(join(dir, 'cache', String(i)), fill).catch((error) => console.log(error.message))
  meet('-done-' + i)
}
`

test('two processes that fill the same folder at the same time both succeed, and the folder is complete', async () => {
  const fill = (own: string, other: string) =>
    runCommand(process.execPath, ['--input-type=module', '-e', fillProgram, dir, own, other])
  const results = await Promise.all([fill('a', 'b'), fill('b', 'a')])
  expect(results).toMatchObject([
    { code: 0, output: '' },
    { code: 0, output: '' },
  ])
  const folders = readdirSync(join(dir, 'cache'))
  expect(folders).toHaveLength(folderCount)
  for (const folder of folders) expect(readdirSync(join(dir, 'cache', folder))).toHaveLength(1)
}, 120_000)
