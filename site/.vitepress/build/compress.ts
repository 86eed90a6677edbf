import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** Writes `.br` and `.gz` files next to every text file in a folder, so that the server never compresses while a user waits. */
export function compressPages(folder: string): void {
  for (const name of globSync('**/*.{html,js,css,svg}', { cwd: folder })) {
    const file = join(folder, name)
    if (!statSync(file).isFile()) continue
    const bytes = readFileSync(file)
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_QUALITY]: 10 }
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${file}.gz`, gzipSync(bytes))
  }
}
