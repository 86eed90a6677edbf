import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const compressible = /\.(html|js|css|svg|json|txt)$/

/**
 * Writes `.br` and `.gz` files next to every text file of the build, so that the server never compresses while a user
 * waits.
 */
export function compressed(): Plugin {
  let outDir = ''
  let isWritten = false
  return {
    name: 'shoal:compressed',
    apply: 'build',
    configResolved: (config) => void (outDir = join(config.root, config.build.outDir)),
    writeBundle: () => void (isWritten = true),
    closeBundle() {
      // Also called when the build has failed; its own error must not be hidden by a missing file.
      if (!isWritten) return
      for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
        const file = join(outDir, name)
        if (!compressible.test(name) || !statSync(file).isFile()) continue
        const bytes = readFileSync(file)
        const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_QUALITY]: 11 }
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
      }
    },
  }
}
