import type { Unpack } from 'tar'

/**
 * Resolves when tar has closed all files and finished all other work in the folder, even after a failure, once `end()` has been called.
 * Without waiting for it, files of rejected archives would stay open, and appear in a folder that the caller deletes.
 */
export function whenClosed(unpack: Unpack): Promise<void> {
  return new Promise((resolve) => {
    unpack.once('end', resolve)
    // tar does not emit `end` if it aborts, which it does only before the first entry, or if `cwd` does not exist, so that it has no folder to write to.
    unpack.once('abort', resolve)
    unpack.on('error', (error) => {
      if (error instanceof Error && error.name === 'CwdError') resolve()
    })
  })
}
