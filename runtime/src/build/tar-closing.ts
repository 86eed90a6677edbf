import type { Unpack } from 'tar'

/**
 * Resolves when tar has closed all files and finished all other work in the folder, also after a failure, once `end()` has been called.
 * Without waiting for it, files of rejected archives would stay open, and appear in a folder that the caller deletes.
 */
export function whenClosed(unpack: Unpack): Promise<void> {
  return new Promise((resolve) => {
    unpack.once('end', resolve)
    // After these failures tar does not emit `end`. It aborts only before the first entry, and has no folder to write to without its `cwd`.
    unpack.once('abort', resolve)
    unpack.on('error', (error) => {
      if (error instanceof Error && error.name === 'CwdError') resolve()
    })
  })
}
