import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/**
 * Writes `.br` and `.gz` files next to every text file in a folder, so that the server never compresses while a user waits. The
 * builds of the console and of the documentation call it.
 */
export function compressFiles(folder: string): void {
  for (const name of globSync('**/*.{html,js,css,svg,json,txt}', { cwd: folder })) {
    const file = join(folder, name)
    if (!statSync(file).isFile()) continue
    const bytes = readFileSync(file)
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_QUALITY]: 11 }
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  }
}

/** Compresses the files of a successful build. */
export function compressed(): Plugin {
  let outDir = ''
  let isWritten = false
  return {
    name: 'shoal:compressed',
    apply: 'build',
    configResolved: (config) => void (outDir = join(config.root, config.build.outDir)),
    writeBundle: () => void (isWritten = true),
    // Vite calls this after a failed build, too. The error of a missing file would hide that of the build.
    closeBundle: () => void (isWritten && compressFiles(outDir)),
  }
}
