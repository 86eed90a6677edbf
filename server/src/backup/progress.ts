import type { TarEntry } from '@shoal/runtime'

/** Tells somebody at a terminal how far a long command has come. */
export type Progress = {
  step: (what: string) => void
  /** The same entries, counted. */
  track: (entries: AsyncIterable<TarEntry>) => AsyncIterable<TarEntry>
}

const everyMs = 5_000

/** `say` is given a line now and then, not one for each file. */
export function startProgress(say: (line: string) => void): Progress {
  let files = 0
  let bytes = 0
  let saidMs = performance.now()
  async function* of(entries: AsyncIterable<TarEntry>): AsyncGenerator<TarEntry> {
    for await (const entry of entries) {
      if (performance.now() - saidMs > everyMs) {
        saidMs = performance.now()
        say(`  … ${files} files, ${Math.round(bytes / 1e6)} MB`)
      }
      files += 1
      bytes += entry.type === 'File' ? entry.size : 0
      yield entry
    }
  }
  return { step: (what) => say(`${what} …`), track: of }
}
