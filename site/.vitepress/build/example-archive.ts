import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { create } from 'tar'

const examples = join(import.meta.dirname, '../../../examples')
const name = 'erc20-transfers'

/**
 * Writes the archive of the example squid, which the commands in `pages/index.md` (Get started) download, to a folder. The same sources
 * result in the same archive.
 */
export async function packExample(folder: string): Promise<void> {
  const isSource = (path: string) =>
    !/\/(node_modules|lib|builds)(\/|$)/.test(path) && statSync(join(examples, path)).isFile()
  // `exclude` prevents globSync from reading the thousands of files in `node_modules`. `sqd` writes archives to `builds`.
  const files = globSync(`${name}/**`, { cwd: examples, exclude: (path) => /(^|\/)node_modules$/.test(path) })
  const file = join(folder, `${name}.tar.gz`)
  await create({ file, gzip: true, portable: true, mtime: new Date(0), cwd: examples }, files.filter(isSource).sort())
}
