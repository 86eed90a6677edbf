import type { Unpack } from 'tar'

/**
 * Resolves when tar has closed all files and finished its work in the folder, even after a failure. The caller must call `end()`.
 * Otherwise files of rejected archives would stay open, and appear in a folder that the caller deletes.
 */
export function whenClosed(unpack: Unpack): Promise<void> {
  return new Promise((resolve) => {
    unpack.once('end', resolve)
    // tar emits no `end` if it aborts, which it does only before the first entry, or if `cwd` does not exist.
    unpack.once('abort', resolve)
    unpack.on('error', (error) => {
      if (error instanceof Error && error.name === 'CwdError') resolve()
    })
  })
}
